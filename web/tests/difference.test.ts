// The expected output: whether a run printed it, and where it did not.

import { expect, test } from "vitest";

import { rowsOf } from "../src/output/difference";
import type { Exit, RunResult } from "../src/run/client";
import { linesOf, verdictOf } from "../src/run/expected";

function ran(stdout: string, exit: Exit = { stage: "run", code: 0 }): RunResult {
  return { kind: "ran", stdout, stderr: "", exit, timings: {}, elapsedMs: 5 };
}

test("what counts as the expected output", () => {
  const cases: [expected: string, stdout: string, line: number | null][] = [
    ["a\nb\n", "a\nb\n", null],
    ["a\nb", "a\nb\n", null],
    ["a\nb\n", "a\nb", null],
    ["a\r\nb\r\n", "a\nb\n", null],
    ["a", "\u001b[31ma\u001b[0m\n", null],
    ["", "", null],
    ["", "\n", null],
    ["a\n\n", "a\n", 2],
    ["a ", "a", 1],
    ["a\nb", "a", 2],
    ["a", "a\nb", 2],
    ["a", "A", 1],
  ];
  for (const [expected, stdout, line] of cases) {
    const verdict = line === null ? { matches: true } : { matches: false, line };
    expect(verdictOf(ran(stdout), expected), JSON.stringify([expected, stdout])).toEqual(verdict);
  }
});

test("nothing is compared without a program's output, or without an expected one", () => {
  for (const exit of [{ stage: "compile", code: 1 }, { stage: "run", isStopped: true }] as const) {
    expect(verdictOf(ran("a", exit), "b")).toBeNull();
  }
  expect(verdictOf(ran("a"), null)).toBeNull();
  expect(verdictOf({ kind: "stopped" }, "a")).toBeNull();
  expect(verdictOf(ran("a", { stage: "run", code: 1 }), "a")).toEqual({ matches: true });
});

/** Each row as its sign and its text, the marked part in brackets. */
function drawn(expected: string, own: string): string[] {
  return rowsOf(linesOf(expected), linesOf(own)).map((row) => {
    if (row.kind === "gap") return `@${row.count}`;
    const { kind, text, mark: [from, to] } = row;
    const sign = { same: " ", expected: "-", own: "+" }[kind];
    return from === to ? sign + text : `${sign}${text.slice(0, from)}[${text.slice(from, to)}]${text.slice(to)}`;
  });
}

test("the difference, line by line", () => {
  const many = Array.from({ length: 20 }, (_, index) => `${index}\n`);
  const cases: [string, string, string[]][] = [
    ["a\nb\nc", "a\nc", [" a", "-b", " c"]],
    ["a\nc", "a\nb\nc", [" a", "+b", " c"]],
    ["Sum: 10", "Sum: 12", ["-Sum: 1[0]", "+Sum: 1[2]"]],
    ["Hello, world", "Hello world", ["-Hello[,] world", "+Hello world"]],
    ["aa", "aaa", ["-aa", "+aa[a]"]],
    ["a \n", "a", ["-a[ ]", "+a"]],
    // Not half of a pair of surrogates.
    ["😀", "😁", ["-[😀]", "+[😁]"]],
    ["x😀", "x😁y", ["-x[😀]", "+x[😁y]"]],
    ["a\nb", "x\ny\nz", ["-[a]", "-[b]", "+[x]", "+[y]", "+z"]],
    [many.join(""), many.join("").replace("10", "ten"), ["@7", " 7", " 8", " 9", "-[10]", "+[ten]", " 11", " 12", " 13", "@6"]],
    ["", "a", ["+a"]],
    ["a", "", ["-a"]],
  ];
  for (const [expected, own, rows] of cases) expect(drawn(expected, own), JSON.stringify([expected, own])).toEqual(rows);
});

test("the longest outputs have a view", () => {
  const lines = (sign: string) => Array.from({ length: 200_000 }, () => sign);
  expect(rowsOf(lines("a"), [...lines("a"), "b"])).toHaveLength(5);
  expect(rowsOf([], lines("a"))).toHaveLength(301);
  expect(rowsOf(lines("a"), lines("b"))).toHaveLength(301);
});

test("long outputs are compared in time, and shown in part", () => {
  const lines = (sign: string) => Array.from({ length: 50_000 }, (_, index) => `${sign}${index}`);
  const rows = rowsOf(lines("a"), lines("b"));
  expect(rows).toHaveLength(301);
  expect(rows.at(-1)).toEqual({ kind: "gap", count: 100_000 - 300 });
});
