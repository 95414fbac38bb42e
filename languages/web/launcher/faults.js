// An error in a submission, and how it is reported: the place, the message,
// the line and a mark under it.

/** Everything that was found wrong: thrown once, reported together. */
export class Faults extends Error {
  constructor(list) {
    super("the submission cannot be built");
    this.list = list;
  }
}

/**
 * One fault. `at` is a place as `place` makes it, or a file alone; `length` is
 * how many characters are meant, `note` what may help.
 */
export function fault(at, message, { length = 1, note = null } = {}) {
  return { ...at, length, message, note };
}

/** A file for which a compiler has too little stack: how deep that is differs each time. */
export const tooDeep = (file) => fault({ file }, "this is nested too deeply");

/** The line and column, both from 1, of an offset in the text of a file. */
export function place(file, text, offset) {
  const before = text.slice(0, offset);
  const start = before.lastIndexOf("\n") + 1;
  return {
    file,
    line: before.split("\n").length,
    column: characters(before.slice(start)) + 1,
  };
}

/** How many characters a text has. */
export const characters = (text) => [...text].length;

/** The faults as text: file by file as they came, each from top to bottom. */
export function formatted(list, files) {
  const order = [...new Set(list.map(({ file }) => file))];
  const sorted = list.toSorted(
    (a, b) =>
      order.indexOf(a.file) - order.indexOf(b.file) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      (a.column ?? 0) - (b.column ?? 0),
  );
  const seen = new Set();
  const texts = [];
  for (const one of sorted) {
    const text = tell(one, files);
    if (!seen.has(text)) texts.push(text);
    seen.add(text);
  }
  return texts.join("");
}

function tell({ file, line, column, length, message, note }, files) {
  const where = line ? `${file}:${line}:${column}` : file;
  let text = `${where ? `${where}: ` : ""}error: ${message}\n`;
  const source = line && files.has(file) ? files.text(file).split(/\r?\n/)[line - 1] : null;
  if (source != null && source.length <= 500) {
    const gutter = String(line).padStart(5);
    const before = [...source].slice(0, column - 1).map((c) => (c === "\t" ? c : " "));
    const rest = Math.max(1, characters(source) - column + 1);
    const mark = "^" + "~".repeat(Math.max(0, Math.min(length, rest) - 1));
    text += `${gutter} | ${source}\n${" ".repeat(5)} | ${before.join("")}${mark}\n`;
  }
  return note ? `${text}${" ".repeat(5)} = ${note}\n` : text;
}
