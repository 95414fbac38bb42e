// Source maps: read to find where generated code comes from, and rewritten to
// name the submitted files alone.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Line and column, from 1 and 0, in the source of a position in the result. */
export function origin(map, line, column) {
  const state = [0, 0, 0, 0];
  let found = null;
  for (const [index, text] of map.mappings.split(";").entries()) {
    state[0] = 0;
    if (index >= line) break;
    for (const segment of text ? text.split(",") : []) {
      const numbers = decode(segment);
      numbers.slice(0, 4).forEach((number, field) => { state[field] += number; });
      const counts = index === line - 1 && state[0] <= column && numbers.length >= 4;
      if (counts) found = { line: state[2] + 1, column: state[3] + column - state[0] };
    }
  }
  return found;
}

/**
 * The map of a bundle, as a comment. `fileOf` gives the submitted file of a
 * source's name, or nothing for code of ours.
 */
export function comment(json, fileOf, textOf) {
  const map = JSON.parse(json);
  const files = map.sources.map(fileOf);
  map.sources = files.map((file) => (file == null ? null : encodeURI(file).replaceAll("#", "%23")));
  map.sourcesContent = files.map((file) => (file == null ? null : textOf(file)));
  map.ignoreList = files.flatMap((file, index) => (file == null ? [index] : []));
  const data = Buffer.from(JSON.stringify(map)).toString("base64");
  return `//# sourceMappingURL=data:application/json;base64,${data}\n`;
}

/** A map of code that stands in its file as it does here, from a place on. */
export function identity(file, text, code, { line, column }) {
  let last = { line: 0, column: 0 };
  const lines = code.split("\n").map((words, index) => {
    const from = index === 0 ? column - 1 : 0;
    let before = 0;
    const segments = [...words.matchAll(/[\w$]+|[^\s\w$]/g)].map(({ index: at }) => {
      const now = { line: line - 1 + index, column: from + at };
      const fields = [at - before, 0, now.line - last.line, now.column - last.column];
      [before, last] = [at, now];
      return fields.map(encode).join("");
    });
    return segments.join(",");
  });
  const map = { version: 3, sources: [file], mappings: lines.join(";") };
  return comment(JSON.stringify(map), (name) => name, () => text);
}

/** A map that says nothing: code that has no source. */
export const NOTHING =
  "\n//# sourceMappingURL=data:application/json," +
  encodeURIComponent('{"version":3,"sources":[],"mappings":""}');

function decode(segment) {
  const numbers = [];
  let value = 0;
  let shift = 0;
  for (const letter of segment) {
    const digit = DIGITS.indexOf(letter);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    value = shift = 0;
  }
  return numbers;
}

function encode(number) {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1;
  let letters = "";
  do {
    const digit = rest & 31;
    rest >>>= 5;
    letters += DIGITS[rest > 0 ? digit | 32 : digit];
  } while (rest > 0);
  return letters;
}
