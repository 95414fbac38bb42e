// Reads the tables that mysql, psql and sqlite3 draw with + - | into rows.

export interface ResultTable {
  columns: string[];
  /** `null` for NULL. */
  rows: readonly (readonly (string | null)[])[];
  /** Whether the client aligned the column to the right, as it does with numbers. */
  isNumeric: boolean[];
  /** Whether the values are those of the server: NULL is not the text 'NULL'. */
  isExact?: boolean;
  /** How many rows there were, if `rows` has not all of them. */
  count?: number;
}

export type Part = { kind: "text"; text: string } | { kind: "table"; table: ResultTable; text: string };

/** The tables of a text, and the text between them. A drawing that is not a valid table remains text. */
export function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let done = 0;
  for (const match of text.matchAll(/^\+(?:-+\+)+$/gm)) {
    if (match.index < done) continue;
    const read = tableAt(text, match.index);
    if (read === null) continue;
    if (match.index > done) parts.push({ kind: "text", text: text.slice(done, match.index) });
    parts.push({ kind: "table", table: read.table, text: text.slice(match.index, read.end) });
    done = read.end;
  }
  if (done < text.length) parts.push({ kind: "text", text: text.slice(done) });
  return parts;
}

export const NUMBER = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/i;

/**
 * The table as CSV (RFC 4180). Spreadsheets would execute text that begins like a formula: it begins with an apostrophe
 * instead. Numbers stay as they are. If NULL is certain, its field is empty, and an empty text has quotes.
 */
export function csvOf({ columns, rows, isExact = false }: ResultTable): string {
  const cell = (value: string | null) => {
    if (isExact && value === "") return '""';
    const given = value ?? (isExact ? "" : "NULL");
    const text = /^[=+\-@\t\r]/.test(given) && !NUMBER.test(given) ? `'${given}` : given;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** The client pads columns up to this width. */
const MAX_PADDING = 1024;

function tableAt(text: string, start: number): { table: ResultTable; end: number } | null {
  const border = text.slice(start, text.indexOf("\n", start));
  const widths = border.slice(1, -1).split("+").map((dashes) => dashes.length - 2);
  const header = rowAt(text, start + border.length + 1, widths);
  if (header === null || !isBorderAt(text, header.end, border)) return null;
  const rows: string[][] = [];
  let at = header.end + border.length + 1;
  while (!isBorderAt(text, at, border)) {
    const row = rowAt(text, at, widths);
    if (row === null) return null;
    rows.push(row.cells);
    at = row.end;
  }
  const isNumeric = widths.map((_, column) => isAlignedRight(rows.map((row) => row[column] ?? "")));
  const table: ResultTable = {
    columns: header.cells.map(heading),
    rows: rows.map((row) => row.map((cell, column) => valueOf(cell, isNumeric[column] === true))),
    isNumeric,
  };
  return { table, end: Math.min(at + border.length + 1, text.length) };
}

function isBorderAt(text: string, at: number, border: string): boolean {
  const after = text[at + border.length];
  return text.startsWith(border, at) && (after === "\n" || after === undefined);
}

/** A row by the widths of its columns, or else by its bars if their number is right. */
function rowAt(text: string, start: number, widths: readonly number[]): { cells: string[]; end: number } | null {
  return rowByWidths(text, start, widths) ?? rowByBars(text, start, widths.length);
}

function rowByWidths(text: string, start: number, widths: readonly number[]): { cells: string[]; end: number } | null {
  if (text[start] !== "|") return null;
  const cells: string[] = [];
  let at = start + 1;
  for (const [column, width] of widths.entries()) {
    if (text[at] !== " ") return null;
    const isLast = column === widths.length - 1;
    const end = cellEnd(text, at + 1, Math.min(width, MAX_PADDING), isLast && width > MAX_PADDING);
    if (end === null || !text.startsWith(" |", end)) return null;
    cells.push(text.slice(at + 1, end));
    at = end + 2;
  }
  return text[at] === "\n" ? { cells, end: at + 1 } : null;
}

/** The end of a cell that is padded to `width`. A line end in it counts as one column, as the client counts. */
function cellEnd(text: string, start: number, width: number, isOpen: boolean): number | null {
  let at = start;
  let shown = 0;
  while (at < text.length && (shown < width || cellsOf(text.codePointAt(at) ?? 0) === 0)) {
    const code = text.codePointAt(at) ?? 0;
    shown += cellsOf(code);
    at += code > 0xffff ? 2 : 1;
  }
  if (!isOpen || text.startsWith(" |\n", at)) return shown === width ? at : null;
  const end = text.indexOf(" |\n", at);
  return end < 0 ? null : end;
}

function rowByBars(text: string, start: number, columns: number): { cells: string[]; end: number } | null {
  const end = text.indexOf("\n", start);
  const line = text.slice(start, end);
  if (end < 0 || !line.startsWith("| ") || !line.endsWith(" |")) return null;
  const cells = line.slice(2, -2).split(" | ");
  return cells.length === columns ? { cells, end: end + 1 } : null;
}

/** The width of a character by the client's own table, which is not that of terminals. */
function cellsOf(code: number): number {
  if (code > 0xffff) return code >= 0x20000 && code <= 0x3fffd ? 1 : 0;
  return code >= 0x1100 && WIDE.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}

const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x1159],
  [0x115f, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0x4db5],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4c6],
  [0xac00, 0xd7a3],
  [0xf900, 0xfad9],
  [0xfe30, 0xfe6b],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
];

/** Whether the client aligned the column to the right, as it does with numbers. Other text may begin with blanks, too. */
function isAlignedRight(cells: readonly string[]): boolean {
  const isNumber = (cell: string) => !cell.endsWith(" ") && (cell.trim() === "NULL" || NUMBER.test(cell.trim()));
  return cells.length > 0 && cells.every(isNumber) && cells.some((cell) => cell.trim() !== "NULL" || cell.startsWith(" "));
}

function valueOf(cell: string, isNumeric: boolean): string | null {
  const value = isNumeric ? cell.trim() : unpadded(cell);
  return value === "NULL" ? null : value;
}

/** The name of a column. psql and sqlite3 centre it, and mysql begins at the left. */
function heading(cell: string): string {
  const name = unpadded(cell);
  const before = name.length - name.trimStart().length;
  const behind = cell.length - name.length;
  return behind - before === 0 || behind - before === 1 ? name.trimStart() : name;
}

/** The cell without the spaces at its end; other white space belongs to the value. */
function unpadded(cell: string): string {
  let end = cell.length;
  while (cell[end - 1] === " ") end--;
  return cell.slice(0, end);
}
