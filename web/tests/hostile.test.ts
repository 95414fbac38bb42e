// Hostile texts (output of programs, documents, messages of pages, files of
// links) that would block the page or make it fail.

import { unzipSync } from "fflate";
import { describe, expect, test } from "vitest";

import { grammarOf } from "../src/editor/languages";
import { marksOf, needsInput, placesIn, Sources } from "../src/errors";
import { LINE_LENGTH_READ } from "../src/errors/places";
import { plainText } from "../src/output/ansi";
import { readHostRequest } from "../src/parent/onecompiler";
import { DocumentScripts } from "../src/preview/maps";
import { insertionPoint, readMessage } from "../src/preview/protocol";
import { framesOf } from "../src/preview/stack";
import type { RunResult } from "../src/run/client";
import { zip } from "../src/share/zip";
import { readSnapshot } from "../src/store/snapshot";
import { languages, names, settingsOf } from "./definitions";
import { LENGTH, checkLinear, checkSquare, repeated } from "./linear";

const blank = `${" ".repeat(99)}\n`;

const entries: Readonly<Record<string, string>> = {
  python: "main.py", java: "Main.java", csharp: "Program.cs", c: "main.c", cpp: "main.cpp", php: "main.php",
  mongodb: "main.js", mysql: "main.sql", web: "index.html",
};
const entryOf = (language: string) => entries[language] ?? "main";
const ran = (stderr: string): RunResult => ({
  kind: "ran", stdout: "", stderr, exit: { stage: "run", code: 0 }, timings: {}, elapsedMs: 1,
});
const marks = (language: string, text: string) =>
  marksOf(settingsOf(language).messages, ran(text), new Sources(entryOf(language), [{ path: entryOf(language), content: "x" }]));
const places = (language: string, text: string, content = "x") =>
  placesIn(settingsOf(language).messages, text, new Sources(entryOf(language), [{ path: entryOf(language), content }]));

/** The checks' longest texts become lines as long as a line that is read. */
const LINES = LENGTH / LINE_LENGTH_READ;

/** Of a text that a pattern of places matches: each part to repeat, and the text before it. */
function partsOf(pattern: string, path: string): [part: string, before: string][] {
  const parts: [string, string][] = [];
  const groups: string[] = [];
  let before = "";
  /** The depth of a lookaround: its contents are no part of the text. */
  let look = 0;
  for (const [token] of pattern.matchAll(/\w+|\(\?(?:<?[=!]|:|<\w+>)|\[\^?(?:\\.|[^\]])*\]|\\.|[^]/g)) {
    if (token.startsWith("(")) groups.push(before);
    if (/^\(\?<?[=!]/.test(token)) look ||= groups.length;
    if (token === ")") groups.pop();
    if (groups.length < look) look = 0;
    if (look > 0 || /^[()?*+^$]/.test(token)) continue;
    if (token === "|") {
      before = groups.at(-1) ?? "";
      continue;
    }
    const sign = signOf(token, path);
    parts.push([before + sign, ""], [sign, before]);
    before += sign;
  }
  return parts;
}

function signOf(token: string, path: string): string {
  if (token === "PATH" || token === "NAME") return path;
  const known: Readonly<Record<string, string>> = { ".": " ", "\\d": "1", "\\w": "x", "\\t": "\t" };
  if (token.startsWith("[")) return token.startsWith("[^") ? "x" : token.charAt(1);
  return known[token] ?? token.replace("\\", "");
}

describe("documents", () => {
  checkLinear("comments before no doctype", insertionPoint, repeated("<!---->"));
  checkLinear("tags that do not end", (html) => new DocumentScripts(html), repeated("<script "));
  checkLinear("signs that begin no tag", (html) => new DocumentScripts(html), repeated("<"));
  checkLinear("scripts", (html) => new DocumentScripts(html), repeated(`<script>${"x".repeat(99)}</script>`));
  checkLinear("quotes that do not end", (html) => new DocumentScripts(html), repeated('<script a="'));

  const points: readonly [html: string, before: string][] = [
    ["<!doctype html>x", "<!doctype html>"],
    [" \n<!-- a --> <!-- b --><!DOCTYPE html>x", " \n<!-- a --> <!-- b --><!DOCTYPE html>"],
    ["<!-- a --><p>x", ""],
    ["<!-- a", ""],
    ["<!doctypehtml>", ""],
    // Browsers end the comment here: the text behind it would run before our code.
    ["<!--><script>1</script>--><!doctype html>", ""],
    ["<!---><script>1</script>--><!doctype html>", ""],
    ["<!-- --!><script>1</script>--><!doctype html>", ""],
    ["<!--!> --><!doctype html>x", "<!--!> --><!doctype html>"],
  ];
  test.each(points)("our code is inserted after the doctype of %j", (html, before) => {
    expect(html.slice(0, insertionPoint(html))).toBe(before);
  });
});

describe("links", () => {
  const locked = (spec: string) => readSnapshot({ files: [{ path: "a", content: "", locked: spec }] }, "a");
  checkLinear("blanks in locked lines", locked, repeated(" ", "1-", "x"));
});

describe("stacks", () => {
  checkLinear("brackets", framesOf, repeated(" (:1:1", "at ", "x"));
  checkLinear("at signs", framesOf, repeated("@:1:1", "", "x"));
  checkLinear("blanks", framesOf, repeated(" (", "at "));
});

describe("output", () => {
  checkLinear("colours", plainText, repeated("38;5;1;", "\u001b[", "mx"));
  for (const language of languages) {
    checkLinear(`blanks, ${language}`, (text) => places(language, text), repeated(blank));
    checkLinear(`empty lines, ${language}`, (text) => places(language, text), repeated("\n"));
  }
  checkLinear("blanks, mysql", (text) => places("mysql", text), repeated(blank, "ERROR at line 1: ", "x"));
  for (const language of languages) {
    settingsOf(language).messages.places.forEach((pattern, index) => {
      const parts = partsOf(pattern, entryOf(language));
      const lines = (length: number) => parts.map(([part, before]) => `${repeated(part, before)(length / LINES)}\n`).join("").repeat(8);
      checkSquare(`long lines of parts of place ${index + 1}, ${language}`, (text) => places(language, text), lines);
    });
  }
  test("of a long line, only the beginning has places", () => {
    const line = `main.c:1: ${" ".repeat(LINE_LENGTH_READ)}main.c:1: \n`;
    expect(places("c", line.repeat(2)).map(({ start }) => start)).toEqual([0, line.length]);
  });
  const many = "main.c:1:9:\n";
  checkLinear("columns", (text) => places("c", text, "x".repeat(text.length)), repeated(many));
  const lines: readonly [language: string, part: string, before: string][] = [
    ["c", "multiple definition of `", "main.c:1: "],
    ["c", "Assertion '", "main.c:1: "],
    ["csharp", "\n", "Process terminated. a."],
    ["csharp", "Process terminated. a\n \n", ""],
    ["csharp", "\nb", "Process terminated. a"],
    ["mongodb", "Error", ""],
    ["php", "main.php:1 ", "PHP Warning: "],
    ["php", "\nb", "PHP Fatal error:  Uncaught a in main.php:1"],
    ["php", "\nb in main.php:1\nStack trace:\n#0 {main}", "PHP Fatal error:  Uncaught a"],
    ["php", "#0 main.php(1): f()\n", "PHP Fatal error:  Uncaught a in main.php:1\nStack trace:\n"],
    ["javascript", "Error: a\nb\n", ""],
    ["javascript", "\n", "Error: a"],
    ["javascript", "\n\nStop", ""],
    ["javascript", " a\n", ""],
    ["web", "\n  = the files are", "index.html: error: a"],
  ];
  for (const [language, part, before] of lines) {
    checkLinear(`a line of ${part}, ${language}`, (text) => marks(language, text), repeated(part, before, " x"));
  }
});

describe("programs that may read", () => {
  const parts = ["=" + " ".repeat(LENGTH), "(", "/* ", '\\"', "\n"];
  for (const language of languages) {
    const ask = (content: string) =>
      needsInput({ input: settingsOf(language).input, result: ran(""), stdin: "", files: [{ path: entryOf(language), content }] });
    for (const part of parts) {
      const text = part.length < LENGTH ? repeated(part) : (length: number) => part.slice(0, length);
      checkLinear(`${JSON.stringify(part.slice(0, 8))}, ${language}`, ask, text);
    }
  }

  const reads: readonly [content: string, need: "missing" | null][] = [
    ["int x = getchar();", "missing"],
    ["f( (getchar ()));", "missing"],
    ["getchar();", null],
    ["// x = getchar();", null],
    ["int n = 1'000; // x = getchar();", null],
    ['puts("it\'s"); /* = getchar() */', null],
    ['puts("//"); x = getchar();', "missing"],
  ];
  test.each(reads)("%s", (content, need) => {
    const files = [{ path: "main.c", content }];
    expect(needsInput({ input: settingsOf("c").input, result: ran(""), stdin: "", files })).toBe(need);
  });
});

describe("messages of a page with superfluous contents", () => {
  const entry = { level: "log", values: [], depth: 0, table: null, stack: "", isUncaught: false };
  const long = "x".repeat(100_000);
  test.each([
    ["a buffer", { type: "entry", entry: { ...entry, more: new Uint8Array(100_000) } }],
    ["a buffer beside", { type: "pong", more: new Uint8Array(100_000) }],
    ["a map", { type: "pong", more: new Map([[1, long]]) }],
    ["a long key", { type: "entry", entry: { ...entry, [long]: 1 } }],
    ["a long list", { type: "clear", more: Array(100_000) }],
    ["a long address", { type: "written", url: long, insertedLength: 1 }],
  ])("%s", (_, message) => {
    expect(readMessage(message)).toBeNull();
  });
});

describe("names that every object has", () => {
  test("as endings of files", async () => {
    expect(await grammarOf("a.constructor", settingsOf("python"))).toBeNull();
    expect(await grammarOf("a.__proto__", settingsOf("python"))).toBeNull();
  });

  test("as languages", () => {
    const now = { entryFile: "main.py", files: [{ path: "main.py", content: "" }], stdin: "" };
    const files = [{ name: "main.py", content: "1" }];
    for (const language of ["constructor", "__proto__", { toString: 1 }]) {
      const request = readHostRequest({ eventType: "populateCode", language, files }, { language: "python", names }, now);
      expect(request?.kind === "populate" && request.snapshot.value?.files).toEqual([{ path: "main.py", content: "1" }]);
    }
  });

  test("as files of an archive", async () => {
    const files = ["__proto__", "constructor", "a/__proto__", "b"].map((path) => ({ path, content: `in ${path}` }));
    const bytes = new Uint8Array(await zip(files).arrayBuffer());
    // The reader is a plain object, which cannot have that name.
    const archive = unzipSync(bytes, { filter: ({ name }) => name !== "__proto__" });
    expect(Object.keys(archive).sort()).toEqual(["a/__proto__", "b", "constructor"]);
    expect(new TextDecoder("latin1").decode(bytes).replaceAll("a/__proto__", "")).toContain("__proto__");
    expect(new TextDecoder().decode(archive["b"])).toBe("in b");
  });
});
