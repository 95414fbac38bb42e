// The tables that SQL creates, with their columns.

const IDENTIFIER = "(?:`([^`]+)`|([\\p{Alphabetic}_$][\\p{Alphabetic}\\p{Number}_$]*))";
const CREATE = new RegExp(
  `\\bCREATE\\s+(?:TEMPORARY\\s+)?TABLE\\s+(?:IF\\s+NOT\\s+EXISTS\\s+)?(?:${IDENTIFIER}\\s*\\.\\s*)?${IDENTIFIER}\\s*\\(`,
  "giu",
);
const ADD = new RegExp(`\\bALTER\\s+TABLE\\s+${IDENTIFIER}\\s+ADD\\s+(?:COLUMN\\s+)?${IDENTIFIER}`, "giu");
const COLUMN = new RegExp(`^\\s*${IDENTIFIER}\\s`, "u");
/** Words that begin something else than a column. */
const NO_COLUMN = /^\s*(?:PRIMARY|KEY|INDEX|UNIQUE|CONSTRAINT|FOREIGN|FULLTEXT|SPATIAL|CHECK|LIKE|SELECT)\b/i;
/** Comments and texts, whose brackets and commas mean nothing. */
const IGNORED = /--[^\n]*|#[^\n]*|\/\*[^]*?\*\/|'(?:[^'\\]|\\[^]|'')*'|"(?:[^"\\]|\\[^]|"")*"/g;

/** The columns of each table that a text creates. */
export function columnsOf(text: string): Record<string, string[]> {
  const code = text.replaceAll(IGNORED, " ");
  const tables = new Map<string, string[]>();
  for (const match of code.matchAll(CREATE)) {
    const name = match[3] ?? match[4] ?? "";
    const columns = items(code, match.index + match[0].length)
      .filter((item) => !NO_COLUMN.test(item))
      .map((item) => COLUMN.exec(item))
      .map((found) => found?.[1] ?? found?.[2] ?? "");
    tables.set(name, columns.filter((column) => column !== ""));
  }
  for (const [, quoted, plain, quotedColumn, plainColumn] of code.matchAll(ADD)) {
    const column = quotedColumn ?? plainColumn ?? "";
    if (!NO_COLUMN.test(column)) tables.get(quoted ?? plain ?? "")?.push(column);
  }
  return Object.fromEntries(tables);
}

/** The texts between the commas of a bracket that has just opened. */
function items(code: string, start: number): string[] {
  let depth = 1;
  let from = start;
  const found: string[] = [];
  for (let at = start; at < code.length && depth > 0; at++) {
    const letter = code[at];
    if (letter === "(") depth++;
    if (letter === ")") depth--;
    // A statement that is still being typed ends with it.
    if (letter === ";") depth = 0;
    if (depth === 0 || (letter === "," && depth === 1)) {
      found.push(`${code.slice(from, at)} `);
      from = at + 1;
    }
  }
  return found;
}
