// Formatting: only lines that change are touched.

import { ChangeSet, Text } from "@codemirror/state";
import { expect, test } from "vitest";

import { changesTo, moved } from "../src/format/changes";
import { Fault } from "../src/format/fault";
import { formatByPrettier } from "../src/format/prettier";

test("a text becomes its formatted form by changes of whole lines", () => {
  const cases: [before: string, after: string, touched: number][] = [
    ["a\nb\nc", "a\nB\nc", 1],
    ["a\nb\nc", "a\nc", 1],
    ["a\nb\nc", "a\nb", 1],
    ["a\nb\nc", "b\nc", 1],
    ["a\nc", "a\nb\nc", 1],
    ["a", "a\nb", 1],
    ["a", "b\na", 1],
    ["", "a\n", 1],
    ["a\n", "", 1],
    ["a\nb\nc\nd\ne", "A\nb\nx\nc\ne", 3],
    ["a\nb", "a\nb", 0],
  ];
  for (const [before, after, touched] of cases) {
    const doc = Text.of(before.split("\n"));
    const changes = changesTo(doc, after);
    expect(changes.length, JSON.stringify([before, after])).toBe(touched);
    expect(ChangeSet.of(changes, doc.length).apply(doc).toString()).toBe(after);
  }
});

test("files of the web are formatted, and errors have their places", async () => {
  const cases: [parser: string, source: string, text: string][] = [
    ["babel", "const a={b:1}", "const a = { b: 1 };\n"],
    ["babel", "const a=<p>x</p>", "const a = <p>x</p>;\n"],
    ["babel-ts", "let a:number=1", "let a: number = 1;\n"],
    ["css", "p{color:red}", "p {\n    color: red;\n}\n"],
    ["html", "<p   class=a>x</p>", '<p class="a">x</p>\n'],
    ["vue", "<template><p>x</p></template>", "<template><p>x</p></template>\n"],
    ["json", '{"a":1}', '{ "a": 1 }\n'],
    // Prettier would need a minute to keep a cursor.
    ["html", `<p>${"x   \n".repeat(30_000)}</p>`, `<p>\n${`    ${"x ".repeat(38).trimEnd()}\n`.repeat(789)}    ${"x ".repeat(18).trimEnd()}\n</p>\n`],
  ];
  for (const [parser, source, text] of cases) {
    expect(await formatByPrettier(parser, 4, source), source).toBe(text);
  }
  for (const [parser, source] of [["babel", "let a\n = = 1"], ["css", "p {\n color: red;\n }}"], ["html", "<p>\n</b>"], ["json", "{\n,}"]] as const) {
    const error = await formatByPrettier(parser, 4, source).catch((fault: unknown) => fault);
    expect(error, source).toBeInstanceOf(Fault);
    expect((error as Fault).place?.line, source).toBeGreaterThan(0);
  }
});

test("the cursor stays at its character", () => {
  const cases: [before: string, after: string][] = [
    ["a=|1", "a = |1"],
    ["|a", "|a"],
    ["  |a", "|a"],
    ["a|", "a|\n"],
    ["a;|\n\n\n", "a;|\n"],
    ["if a:\n  b|c", "if a:\n    b|c"],
    ["let a  =  1; |b", "let a = 1;\n|b;"],
    // Signs that were added before it.
    ["a\nb\nc\nd|e", "a;\nb;\nc;\nd|e;"],
    ["f(a, 'b'|)", 'f(a, "b"|);'],
    ["<p class=a>|x", '<p class="a">|x</p>'],
    ["a  |", "a|"],
    // On the next line.
    ["a  = 1;\n|", "a = 1;\n|"],
    ["a\n|", "a;\n|"],
    ["a\n\n\n|\nb", "a;\n|\nb;"],
    ["a\n|}", "a;\n|}"],
    ["a, |b c", "a,\n|b c"],
    ["", "|"],
  ];
  for (const [before, after] of cases) {
    const at = moved(before.replace("|", ""), Math.max(0, before.indexOf("|")), after.replace("|", ""));
    expect(`${after.replace("|", "").slice(0, at)}|`, before).toBe(after.slice(0, after.indexOf("|") + 1));
  }
});
