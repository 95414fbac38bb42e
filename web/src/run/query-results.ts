// The results of a database's statements, as data: the server's display of the
// type below. A program may have made it.

import { isRecord } from "../store/snapshot";
import { bytesOf, type Artifact } from "./left";
import { parsed } from "./client";

/** A set of rows, which may be empty. */
export interface RowSet {
  kind: "rows";
  columns: readonly { name: string; type: string }[];
  /** The first of them; `null` for NULL. Bytes that are no text are hexadecimal. */
  rows: readonly (readonly (string | null)[])[];
  /** How many rows there were. */
  count: number;
}

/** The end of a statement without rows. */
export interface Change {
  kind: "change";
  affected: number;
  /** The first word of the statement in capital letters; empty if it is not known. */
  statement: string;
}

export type QueryResult = RowSet | Change;

/** The pattern of the paths of such files. */
export const RESULTS_FILES = "*.results";

/** Statements that change rows: if they changed none, that is worth a word. */
const CHANGES: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "WITH"]);

/** Statements that count something else than rows. */
const DEFINITIONS: ReadonlySet<string> = new Set(["CREATE", "DROP"]);

export function isResults({ type, display }: Artifact): boolean {
  return type === "application/vnd.sandpiper.results+json" && display !== undefined;
}

/** The results in the order of the statements; `null` if there are none that can be read. */
export function resultsIn(artifact: Artifact | undefined): QueryResult[] | null {
  if (artifact === undefined) return null;
  const list = parsed(new TextDecoder().decode(bytesOf(artifact)))?.["results"];
  if (!Array.isArray(list)) return null;
  const results = list.map(resultOf);
  return results.every((result) => result !== null) ? results : null;
}

/** Those that a person is shown. */
export function shownOf(results: readonly QueryResult[]): QueryResult[] {
  return results.filter((result) => {
    if (result.kind === "rows" || CHANGES.has(result.statement)) return true;
    return result.affected > 0 && !DEFINITIONS.has(result.statement);
  });
}

function resultOf(value: unknown): QueryResult | null {
  if (!isRecord(value)) return null;
  const { columns, rows, count, affected, statement } = value;
  if (typeof affected === "number" && typeof statement === "string") return { kind: "change", affected, statement };
  if (!Array.isArray(columns) || !columns.every(isColumn)) return null;
  const isRow = (row: unknown): row is (string | null)[] =>
    Array.isArray(row) && row.length === columns.length && row.every((cell) => cell === null || typeof cell === "string");
  if (!Array.isArray(rows) || !rows.every(isRow) || typeof count !== "number" || count < rows.length) return null;
  return { kind: "rows", columns, rows, count };
}

function isColumn(value: unknown): value is RowSet["columns"][number] {
  return isRecord(value) && typeof value["name"] === "string" && typeof value["type"] === "string";
}
