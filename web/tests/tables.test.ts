// The tables of SQL clients, read into rows.

import { describe, expect, test } from "vitest";

import { Room } from "../src/output/render";
import { csvOf, partsOf, type ResultTable } from "../src/output/tables";
import { program, programsOf } from "./programs";
import { checkLinear, repeated } from "./linear";

function tablesOf(text: string): ResultTable[] {
  return partsOf(text).flatMap((part) => (part.kind === "table" ? [part.table] : []));
}

test("every table that a real program printed is read, and no character is lost", () => {
  const programs = programsOf("mysql");
  expect(programs.length).toBeGreaterThan(50);
  for (const { name, result } of programs) {
    const parts = partsOf(result.stdout);
    expect(parts.map((part) => part.text).join(""), name).toBe(result.stdout);
    for (const part of parts) {
      if (part.kind === "text") expect(part.text, name).not.toMatch(/^\+-[-+]*\+$/m);
      else for (const row of part.table.rows) expect(row, name).toHaveLength(part.table.columns.length);
    }
  }
});

test("numbers, text and NULL", () => {
  const [first] = tablesOf(program("mysql", "values").result.stdout);
  expect(first?.columns.slice(0, 6)).toEqual(["small", "big", "price", "ratio", "yes", "word"]);
  expect(first?.isNumeric.slice(0, 6)).toEqual([true, true, true, true, true, false]);
  expect(first?.rows.map((row) => row.slice(0, 6))).toEqual([
    ["255", "-9223372036854775808", "12.50", "0.1", "1", "naïve"],
    [null, null, null, null, null, null],
  ]);
});

test("names and values beyond ASCII", () => {
  const [first, second] = tablesOf(program("mysql", "names-beyond-ascii").result.stdout);
  expect(first?.columns).toEqual(["größe", "名前", "δ"]);
  expect(first?.rows).toEqual([
    ["150", "桜", "1.5"],
    ["160", "Éclair", "2.0"],
    ["170", "😀👩‍🚀", "3.0"],
  ]);
  expect(second?.rows[0]?.[3]).toBe("😀👩‍🚀");
});

test("cells of several lines", () => {
  const [, , third] = tablesOf(program("mysql", "explain").result.stdout);
  expect(third?.columns).toEqual(["EXPLAIN"]);
  expect(third?.rows[0]?.[0]).toMatch(/^-> Nested loop inner join .*\n {4}-> Covering[^]*\n$/);
  const scripts = tablesOf(program("mysql", "scripts").result.stdout);
  expect(scripts.some((table) => table.rows[0]?.at(-1) === "tab\tline\nend")).toBe(true);
});

describe("text", () => {
  const box = "+---+\n| a |\n+---+\n| 1 |\n+---+\n";

  test("around and between tables stays", () => {
    expect(partsOf(`before\n${box}between\n${box}after`).map((part) => [part.kind, part.text])).toEqual([
      ["text", "before\n"],
      ["table", box],
      ["text", "between\n"],
      ["table", box],
      ["text", "after"],
    ]);
  });

  test.each([
    ["a border alone", "+---+\n"],
    ["cut off in a row", "+---+\n| a |\n+---+\n| 1"],
    ["cut off after a row", "+---+\n| a |\n+---+\n| 1 |\n"],
    ["cut off after the header", "+---+\n| a |\n"],
    ["a drawing", "+---+\n|abc|\n+---+\n"],
    ["rows of other widths", "+---+\n| a |\n+---+\n| 1 | 2 |\n+---+\n"],
  ])("%s is no table", (_, text) => {
    expect(partsOf(text)).toEqual([{ kind: "text", text }]);
  });

  test("a cut table keeps those before it", () => {
    expect(partsOf(`${box}+---+\n| a |\n+---+\n| 1`).map((part) => part.kind)).toEqual(["table", "text"]);
  });

  test("bars within a cell are a part of it", () => {
    const text = "+-------+---+\n| x     | y |\n+-------+---+\n| a | b | c |\n+-------+---+\n";
    expect(tablesOf(text)[0]?.rows).toEqual([["a | b", "c"]]);
  });

  test("a cell that is wider than the client pads", () => {
    const dashes = "-".repeat(2002);
    const border = `+${dashes}+\n`;
    const [header, long, short] = ["x".padEnd(1024), "y".repeat(2000), "z".padEnd(1024)];
    const text = `${border}| ${header} |\n${border}| ${long} |\n| ${short} |\n${border}`;
    expect(tablesOf(text)[0]?.rows).toEqual([["y".repeat(2000)], ["z"]]);
  });

  checkLinear("many borders", partsOf, repeated("+---+\n| a |\n+---+\n| 1 |\n"));
  checkLinear("many rows", partsOf, repeated("| 1 |\n", "+---+\n| a |\n+---+\n"));
});

test.each<[name: string, cells: string[], values: (string | null)[], isNumeric: boolean]>([
  ["text with a blank before it", [" lead"], [" lead"], false],
  ["text with blanks before it", ["  a", "bcd"], ["  a", "bcd"], false],
  ["text with blanks before and after it", [" a  ", "bcde"], [" a", "bcde"], false],
  ["numbers", ["  1", "-12"], ["1", "-12"], true],
  ["numbers and NULL", ["   1", "NULL"], ["1", null], true],
  ["numbers as text", ["7  ", "123"], ["7", "123"], false],
  ["text and NULL", ["abcd", "NULL"], ["abcd", null], false],
  ["dates", ["2026-01-01"], ["2026-01-01"], false],
  ["numbers with an exponent", ["1e20", " 0.5"], ["1e20", "0.5"], true],
])("%s", (_, cells, values, isNumeric) => {
  const border = `+${"-".repeat((cells[0] ?? "").length + 2)}+\n`;
  const text = `${border}| ${"x".padEnd((cells[0] ?? "").length)} |\n${border}${cells.map((cell) => `| ${cell} |\n`).join("")}${border}`;
  const [table] = tablesOf(text);
  expect(table?.rows.map(([value]) => value)).toEqual(values);
  expect(table?.isNumeric).toEqual([isNumeric]);
});

test.each<[heading: string, name: string]>([
  ["name    ", "name"],
  ["  name  ", "name"],
  ["  name   ", "name"],
  ["   name  ", "   name"],
  [" name", " name"],
])("the heading %j", (heading, name) => {
  const border = `+${"-".repeat(heading.length + 2)}+\n`;
  const [table] = tablesOf(`${border}| ${heading} |\n${border}${border}`);
  expect(table?.columns).toEqual([name]);
});

test("CSV has no formulas", () => {
  const cells = ["=1+1", "+1", "-1.5e3", "-a", "@x", "\tx", "a=1", "--1"];
  const table = { columns: cells, rows: [], isNumeric: [] };
  expect(csvOf(table)).toBe("'=1+1,+1,-1.5e3,'-a,'@x,'\tx,a=1,'--1\r\n");
});

test("CSV", () => {
  const table = { columns: ["a", 'b "c"'], rows: [["1,5", null], ["x\ny", ""]], isNumeric: [false, false] };
  expect(csvOf(table)).toBe('a,"b ""c"""\r\n"1,5",NULL\r\n"x\ny",\r\n');
});

test("all tables have room for so many cells, names of columns too", () => {
  const wide = { columns: Array<string>(4000).fill("a"), rows: Array(9).fill(Array(4000).fill("1")), isNumeric: [] };
  const room = new Room();
  const shown = Array.from({ length: 9 }, () => room.partOf(wide)).map(({ columns, rows }) => columns.length * (1 + rows.length));
  expect(shown).toEqual([24_000, 0, 0, 0, 0, 0, 0, 0, 0]);
});
