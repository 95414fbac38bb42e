// Reads CSV (RFC 4180), or values that tabs separate, as a table.

import type { ResultTable } from "./tables";

/** With more columns, a text is easier to read. */
const MAX_COLUMNS = 200;

/** The table of a text whose first line has the names of the columns; `null` if it has no or too many columns. */
export function readCsv(text: string, separator: "," | "\t"): ResultTable | null {
  const [columns, ...rows] = rowsOf(text.replace(/^\ufeff/, ""), separator);
  if (columns === undefined || columns.length > MAX_COLUMNS) return null;
  if (rows.some((row) => row.length > MAX_COLUMNS)) return null;
  const width = rows.reduce((most, row) => Math.max(most, row.length), columns.length);
  const filled = (row: readonly string[]) => Array.from({ length: width }, (_, column) => row[column] ?? "");
  const cells = rows.map(filled);
  const isNumeric = Array.from({ length: width }, (_, column) => areNumbers(cells.map((row) => row[column] ?? "")));
  return { columns: filled(columns), rows: cells, isNumeric };
}

function rowsOf(text: string, separator: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  const cell = new RegExp(`(?:"((?:[^"]|"")*)"?([^${separator}\\r\\n]*)|([^${separator}\\r\\n]*))(${separator}|\\r\\n?|\\n|$)`, "y");
  while (cell.lastIndex < text.length) {
    const found = cell.exec(text);
    if (found === null) break;
    const [, quoted, after = "", plain = "", end = ""] = found;
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"') + after);
    if (end === separator) {
      if (cell.lastIndex === text.length) row.push("");
      continue;
    }
    rows.push(row);
    row = [];
  }
  if (row.length > 0) rows.push(row);
  return rows;
}

function areNumbers(cells: readonly string[]): boolean {
  const filled = cells.filter((cell) => cell !== "");
  return filled.length > 0 && filled.every((cell) => /^\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?\s*$/i.test(cell));
}
