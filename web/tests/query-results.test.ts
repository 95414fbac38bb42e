// The results of SQL statements, in the place of the tables that were drawn of
// them. A program may have made them: a part that is not as it should be is left out.

import { describe, expect, test } from "vitest";

import { withResults } from "../src/output/query-results";
import { csvOf, partsOf } from "../src/output/tables";
import type { Artifact } from "../src/run/left";
import { isResults, resultsIn, type QueryResult } from "../src/run/query-results";

function artifact(content: string): Artifact {
  const type = "application/vnd.sandpiper.results+json";
  return { path: "query.results", display: 1, type, size: content.length, encoding: "utf8", content };
}

const rows = (name: string, ...values: (string | null)[]): QueryResult => ({
  kind: "rows", columns: [{ name, type: "text" }], rows: values.map((value) => [value]), count: values.length,
});
const change = (statement: string, affected: number): QueryResult => ({ kind: "change", statement, affected });

/** The table that the client draws. */
function box(name: string, ...values: string[]): string {
  const width = Math.max(name.length, ...values.map((value) => value.length));
  const border = `+${"-".repeat(width + 2)}+\n`;
  const line = (value: string) => `| ${value.padEnd(width)} |\n`;
  return `${border}${line(name)}${border}${values.map(line).join("")}${border}`;
}

/** Everything that is shown, in words; an exact table has its values as JSON. */
function shown(text: string, results: readonly QueryResult[]): string[] {
  return withResults(partsOf(text), results).map((part) => {
    if (part.kind !== "table") return part.text.trimEnd();
    const { columns, rows: values, isExact = false } = part.table;
    return `${isExact ? "exact" : "read"} ${columns.join()}: ${values.map((row) => JSON.stringify(row)).join(" ")}`;
  });
}

describe("in their places", () => {
  test.each<[what: string, text: string, results: QueryResult[], expected: string[]]>([
    ["none", box("a", "1"), [], ['read a: ["1"]']],
    ["NULL and its text", box("a", "NULL", "NULL"), [rows("a", null, "NULL")], ['exact a: [null] ["NULL"]']],
    ["blanks", box("a ", " b"), [rows("a ", " b ")], ['exact a : [" b "]']],
    ["a set without rows", "", [rows("a")], ["exact a: "]],
    [
      "sets without rows, around others", box("a", "1") + box("a", "2"),
      [rows("a"), rows("a", "1"), rows("b"), rows("a", "2"), rows("c")],
      ["exact a: ", 'exact a: ["1"]', "exact b: ", 'exact a: ["2"]', "exact c: "],
    ],
    [
      "changes", box("a", "1"),
      [change("CREATE", 0), change("CREATE", 1), change("SET", 0), change("INSERT", 2), change("INSERT", 1), rows("a", "1"), change("UPDATE", 0), change("DELETE", 1200)],
      ["2 × INSERT: 3 rows affected", 'exact a: ["1"]', "UPDATE: 0 rows affected", "DELETE: 1,200 rows affected"],
    ],
    ["a change by another statement", "", [change("", 1)], ["1 row affected"]],
    ["text between", `before\n${box("a", "1")}after\n`, [rows("a", "1")], ["before", 'exact a: ["1"]', "after"]],
    [
      "a set that was drawn with a line for each value",
      `${"*".repeat(27)} 1. row ${"*".repeat(27)}\na: 1\n${box("a", "1")}`,
      [change("INSERT", 1), rows("a", "1"), rows("a", "1")],
      ["INSERT: 1 row affected", `${"*".repeat(27)} 1. row ${"*".repeat(27)}\na: 1`, 'exact a: ["1"]'],
    ],
    ["a table of another set", box("a", "1"), [rows("b", "1")], ['read a: ["1"]', 'exact b: ["1"]']],
    [
      "a set that was cut", box("a", "1", "2"),
      [{ ...rows("a", "1"), count: 2 } as QueryResult, change("DELETE", 1)],
      ['read a: ["1"] ["2"]', "DELETE: 1 row affected"],
    ],
  ])("%s", (_, text, results, expected) => {
    expect(shown(text, results)).toEqual(expected);
  });
});

test("very many results are shown", () => {
  expect(withResults([], Array.from({ length: 200_000 }, () => rows("a")))).toHaveLength(200_000);
});

test("CSV tells NULL from an empty text", () => {
  const [part] = withResults([], [rows("a", null, "", "NULL", "=1+1")]);
  expect(part?.kind === "table" ? csvOf(part.table) : "").toBe("a\r\n\r\n\"\"\r\nNULL\r\n'=1+1\r\n");
});

test("are read as they are written", () => {
  const set = { columns: [{ name: "n", type: "number" }], rows: [["1"], [null]], count: 3 };
  const file = artifact(JSON.stringify({ results: [{ affected: 2, statement: "INSERT" }, set], truncated: true }));
  expect(isResults(file)).toBe(true);
  expect(isResults({ ...file, type: "application/json" })).toBe(false);
  expect(resultsIn(file)).toEqual([change("INSERT", 2), { kind: "rows", ...set }]);
});

test.each([
  "", "{", "null", "{}", '{"results":{}}', '{"results":[1]}', '{"results":[{"affected":"1","statement":"A"}]}',
  '{"results":[{"columns":[1],"rows":[],"count":0}]}',
  '{"results":[{"columns":[{"name":"a","type":"text"}],"rows":[["1","2"]],"count":1}]}',
  '{"results":[{"columns":[{"name":"a","type":"text"}],"rows":[[1]],"count":1}]}',
  '{"results":[{"columns":[{"name":"a","type":"text"}],"rows":[["1"]],"count":0}]}',
])("%j are none", (content) => {
  expect(resultsIn(artifact(content))).toBeNull();
});
