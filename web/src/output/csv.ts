// Reads CSV (RFC 4180), or values that tabs separate, as a table.

import { ROWS_SHOWN } from "./limits";
import { NUMBER, type ResultTable } from "./tables";

/** With more columns, a text is easier to read. */
const MAX_COLUMNS = 200;

/**
 * The table of a text whose first line has the names of the columns, with the rows that can be shown; `null` if it has
 * no or too many columns.
 */
export function readCsv(text: string, separator: "," | "\t"): ResultTable | null {
  const [all, count] = rowsOf(text.replace(/^\ufeff/, ""), separator);
  const [columns, ...rows] = all;
  if (columns === undefined || all.some((row) => row.length > MAX_COLUMNS)) return null;
  const width = all.reduce((most, row) => Math.max(most, row.length), 0);
  const filled = (row: readonly string[]) => Array.from({ length: width }, (_, column) => row[column] ?? "");
  const cells = rows.map(filled);
  const isNumeric = Array.from({ length: width }, (_, column) => areNumbers(cells.map((row) => row[column] ?? "")));
  return { columns: filled(columns), rows: cells, isNumeric, count: count - 1 };
}

/** The names, the rows that can be shown, and the number of all. */
function rowsOf(text: string, separator: string): [rows: string[][], count: number] {
  const rows: string[][] = [];
  let count = 0;
  let row: string[] = [];
  const end = () => {
    if (rows.length <= ROWS_SHOWN) rows.push(row);
    count += 1;
    row = [];
  };
  const cell = new RegExp(`(?:"((?:[^"]|"")*)"?([^${separator}\\r\\n]*)|([^${separator}\\r\\n]*))(${separator}|\\r\\n?|\\n|$)`, "y");
  while (cell.lastIndex < text.length) {
    const found = cell.exec(text);
    if (found === null) break;
    const [, quoted, after = "", plain = "", sign = ""] = found;
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"') + after);
    if (sign !== separator) end();
    else if (cell.lastIndex === text.length) row.push("");
  }
  if (row.length > 0) end();
  return [rows, count];
}

function areNumbers(cells: readonly string[]): boolean {
  const filled = cells.filter((cell) => cell !== "");
  return filled.length > 0 && filled.every((cell) => NUMBER.test(cell.trim()));
}
