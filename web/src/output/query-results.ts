// Puts the results of statements in the place of the tables that the client drew
// of them. The rest of its output stays.

import { t } from "../messages";
import { shownOf, type Change, type QueryResult, type RowSet } from "../run/query-results";
import type { Part, ResultTable } from "./tables";

/** Something to show: also how many rows statements changed, in words. */
export type Shown = Part | { kind: "change"; text: string };

/** A table is looked for in so many results: only one without rows was not drawn. */
const LOOKED_AT = 1000;
/** The first line of a set that was drawn with a line for each value, as `\G` does. */
const VERTICAL = /^\*{27} 1\. row \*{27}$/gm;

/** `parts` with the results in their places. */
export function withResults(parts: readonly Part[], results: readonly QueryResult[]): Shown[] {
  const left = shownOf(results);
  const shown: Shown[] = [];
  const show = (count: number) => {
    for (const result of resultsOf(left.splice(0, count))) shown.push(result);
  };
  for (const part of parts) {
    if (part.kind === "text") {
      for (let sets = part.text.match(VERTICAL)?.length ?? 0; sets > 0; sets--) {
        const at = left.findIndex((result) => result.kind === "rows" && result.count > 0);
        if (at < 0) break;
        show(at);
        left.shift();
      }
      shown.push(part);
      continue;
    }
    const at = left.slice(0, LOOKED_AT).findIndex((result) => isDrawnAs(result, part.table));
    if (at >= 0) show(at);
    const result = at < 0 ? undefined : left.shift();
    // Of a large set only the client's table has all rows.
    const isWhole = result?.kind === "rows" && result.rows.length === result.count;
    shown.push(isWhole ? { ...part, table: tableFrom(result) } : part);
  }
  show(left.length);
  return shown;
}

function isDrawnAs(result: QueryResult, { columns, rows }: ResultTable): boolean {
  if (result.kind !== "rows" || result.count !== rows.length || result.columns.length !== columns.length) return false;
  // The client pads names.
  return result.columns.every(({ name }, column) => name.replace(/ +$/, "") === columns[column]);
}

function resultsOf(results: readonly QueryResult[]): Shown[] {
  const shown: Shown[] = [];
  let changes: Change[] = [];
  const end = () => {
    if (changes.length > 0) shown.push({ kind: "change", text: wordsOf(changes) });
    changes = [];
  };
  for (const result of results) {
    if (result.kind === "rows" || (changes[0] ?? result).statement !== result.statement) end();
    if (result.kind === "change") changes.push(result);
    else shown.push({ kind: "table", table: tableFrom(result), text: "" });
  }
  end();
  return shown;
}

/** Of statements that begin with the same word. */
function wordsOf(changes: readonly Change[]): string {
  const affected = changes.reduce((sum, change) => sum + change.affected, 0);
  const count = t("output.affected", { n: affected });
  const statement = changes[0]?.statement ?? "";
  if (statement === "") return count;
  if (changes.length === 1) return t("output.affected-by", { statement, count });
  return t("output.affected-by-several", { times: changes.length, statement, count });
}

function tableFrom({ columns, rows, count }: RowSet): ResultTable {
  return {
    columns: columns.map(({ name }) => name),
    rows,
    isNumeric: columns.map(({ type }) => type === "number"),
    isExact: true,
    count,
  };
}
