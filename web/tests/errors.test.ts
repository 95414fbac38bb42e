// Marks and places in real messages of compilers and runtimes.

import { describe, expect, test, vi } from "vitest";

import { Sources, marksOf, placesIn } from "../src/errors";
import { languages } from "./definitions";
import { checkLinear, repeated } from "./linear";
import { inWords, messagesOf, none, ran } from "./marks";
import { program, programsOf } from "./programs";

/** `error main.py:3:7 NameError: …`. */
function marks(language: string, name: string): string[] {
  const { entryFile, files, result } = program(language, name);
  return inWords(language, result, new Sources(entryFile, files));
}

const EXPECTED: [string, string, string[]][] = [
  ["python", "wrong-types", ['error main.py:3:7 TypeError: can only concatenate str (not "int") to str']],
  [
    "python",
    "uncaught-exception",
    [
      "error bank/account.py:20:0 ValueError: balance too low",
      "error bank/account.py:15:0 InsufficientFunds: cannot pay 100",
    ],
  ],
  ["python", "syntax-error-in-import", ["error lib/broken.py:2:15 SyntaxError: invalid syntax"]],
  ["python", "syntax-error-tabs", ["error main.py:3:1 TabError: inconsistent use of tabs and spaces in indentation"]],
  ["python", "endless-recursion", ["error main.py:2:16 RecursionError: maximum recursion depth exceeded"]],
  ["python", "numpy", ["warning main.py:12:0 RuntimeWarning: divide by zero encountered in divide"]],
  ["python", "unicode", ["error größe.py:11:0 ValueError: Übel: ключ"]],
  [
    "c",
    "error-in-other-file",
    [
      "warning lib/broken.h:3:1 no semicolon at end of struct or union",
      "error lib/more.c:2:12 ‘y’ undeclared (first use in this function)",
    ],
  ],
  ["c", "missing-header", ["error main.c:2:10 stack.h: No such file or directory"]],
  ["c", "undefined-reference", ["error shapes.c:4:0 undefined reference to `scale'"]],
  ["c", "defined-twice", ["error helper.c:1:0 multiple definition of `helper'"]],
  ["c", "failed-assertion", ['error checks/main.c:5:0 Assertion `n % 2 == 0 && "n must be even"\' failed.']],
  [
    "c",
    "two-mains",
    [
      "error main.c:1:0 old/attempt.c defines main, too, but a program has only one",
      "error old/attempt.c:3:0 main.c defines main, too, but a program has only one",
    ],
  ],
  ["cpp", "missing-semicolon", [
    "error main.cpp:6:2 expected ‘;’ after class definition",
    "error main.cpp:10:5 expected initializer before ‘dog’",
  ]],
  ["cpp", "out-of-range", []],
  ["java", "missing-semicolon", ["error Main.java:3:18 ';' expected"]],
  [
    "java",
    "errors-in-several-files",
    [
      "error app/Main.java:7:21 incompatible types: String cannot be converted to int",
      "error app/Main.java:9:18 cannot find symbol: variable undefined",
      "error app/Main.java:10:43 cannot find symbol: method nmae()",
      "error model/Person.java:11:9 cannot assign a value to final variable name",
    ],
  ],
  [
    "java",
    "uncaught-exception",
    [
      "error Main.java:7:0 RuntimeException: could not pay",
      "error Account.java:10:0 IllegalArgumentException: balance is only 10",
    ],
  ],
  ["java", "source-root", ["error src/main/java/org/example/App.java:6:0 IllegalStateException: with a place"]],
  ["java", "unicode-names", ["error größe/Übung.java:18:0 RuntimeException: schön"]],
  ["java", "exception-in-thread", ["warning Main.java:4:0 IllegalStateException: from the worker"]],
  ["java", "stdin-missing", ["error Main.java:7:0 NoSuchElementException"]],
  ["php", "parse-error-in-include", ['error lib/broken.php:4:0 Parse error: syntax error, unexpected token ";"']],
  [
    "php",
    "uncaught-exception",
    [
      "error bank/account.php:25:0 RangeException: balance too low",
      "error bank/account.php:17:0 InsufficientFunds: cannot pay 100",
    ],
  ],
  [
    "php",
    "undefined-variable",
    [
      "warning main.php:3:0 Warning: Undefined variable $cuont",
      'warning main.php:5:0 Warning: Undefined array key "b"',
    ],
  ],
  [
    "php",
    "redeclared",
    ["error lib/two.php:3:0 Fatal error: Cannot redeclare function twice() (previously declared in lib/one.php:2)"],
  ],
  ["csharp", "wrong-type", [
    "error Program.cs:1:9 Cannot implicitly convert type 'string' to 'int'",
    "error Program.cs:2:12 Cannot implicitly convert type 'int' to 'string'",
    "error Program.cs:3:9 'Console' does not contain a definition for 'Writeline'",
  ]],
  [
    "csharp",
    "inner-exception",
    [
      "error Program.cs:9:0 IndexOutOfRangeException: Index was outside the bounds of the array.",
      "error Program.cs:13:0 ApplicationException: outer",
    ],
  ],
  ["csharp", "debug-assert", ["error Program.cs:4:0 Assertion failed: the balance is never negative"]],
  ["mysql", "missing-table", ["error main.sql:3:0 Table 'sandbox.costumers' doesn't exist"]],
  ["mysql", "syntax-error", ["error main.sql:4:14 Syntax error near 'FROM pets'"]],
  ["mysql", "missing-comma", ["error main.sql:3:5 Syntax error near 'name VARCHAR(20)'"]],
  ["mysql", "missing-delimiter", ["error main.sql:3:0 Syntax error at the end of the statement"]],
  ["mysql", "error-in-sourced-file", ["error parts/bad.sql:3:0 Table 'sandbox.nowhere' doesn't exist"]],
  ["mysql", "missing-sourced-file", ["error main.sql:2:0 Failed to open file 'tables.sql', error: 2"]],
  ["bash", "missing-fi", ["error main.sh:4:0 syntax error: unexpected end of file"]],
  [
    "bash",
    "error-in-sourced-file",
    [
      "error lib/broken.sh:2:0 cd: nowhere: No such file or directory",
      'error lib/broken.sh:3:0 ((: 1 / 0: division by 0 (error token is "0")',
    ],
  ],
  ["sqlite", "error-in-read-file", ["error parts/bad.sql:3:0 Parse error: no such table: nowhere"]],
  ["sqlite", "duplicate-key", ["error main.sql:3:0 Runtime error: UNIQUE constraint failed: t.a (19)"]],
  ["ruby", "uncaught-exception", ["error lib/account.rb:7:0 cannot pay 100 (InsufficientFunds)"]],
  [
    "ruby",
    "missing-end",
    ["error main.rb:6:0 syntax error, unexpected end-of-input, expecting `end' or dummy end (SyntaxError)"],
  ],
  ["postgresql", "syntax-error", ['error main.sql:4:0 syntax error at or near "pets"']],
  ["postgresql", "error-in-included-file", ['error parts/bad.sql:3:0 relation "nowhere" does not exist']],
  ["go", "syntax-error", ["error main.go:7:18 syntax error: unexpected newline in argument list; possibly missing comma or )"]],
  ["go", "error-in-package", ['error lib/words/words.go:4:9 cannot use "loud" (untyped string constant) as int value in return statement']],
  ["rust", "missing-semicolon", ["error main.rs:2:14 expected `;`, found `println`"]],
  ["rust", "panic", ["error lib.rs:2:5 panicked"]],
  ["javascript", "uncaught-error", ["error lib/account.js:3:31 InsufficientFunds: cannot pay 100"]],
  ["javascript", "syntax-error-in-module", ["error lib/broken.mjs:2:18 SyntaxError: Unexpected token ';'"]],
  ["typescript", "error-in-other-file", [
    "error lib/words.ts:2:3 Type 'string' is not assignable to type 'number'.",
    "error main.ts:2:19 Argument of type 'number' is not assignable to parameter of type 'string'.",
  ]],
];

describe("marks of real programs", () => {
  test.each(EXPECTED)("%s/%s", (language, name, expected) => {
    expect(marks(language, name)).toEqual(expected);
  });
});

describe("every real message", () => {
  test.each(languages)("%s: places name lines that exist, in order", (language) => {
    for (const { name, entryFile, files, result } of programsOf(language)) {
      const sources = new Sources(entryFile, files);
      let end = 0;
      for (const place of placesIn(messagesOf(language), result.stderr, sources)) {
        expect(place.start, name).toBeGreaterThanOrEqual(end);
        expect(sources.line(place.path, place.line), `${name} ${place.path}:${place.line}`).toBeDefined();
        end = place.end;
      }
      for (const mark of marksOf(messagesOf(language), result, sources)) {
        const line = sources.line(mark.path, mark.line);
        expect(line, `${name} ${mark.path}:${mark.line}`).toBeDefined();
        expect(mark.column, name).toBeLessThanOrEqual((line ?? "").length + 1);
        expect(mark.message, name).not.toBe("");
      }
    }
  });

  test.each(languages)("%s: a message that names a line has a mark", (language) => {
    for (const { name, entryFile, files, result } of programsOf(language)) {
      const sources = new Sources(entryFile, files);
      if (placesIn(messagesOf(language), result.stderr, sources).length === 0) continue;
      expect(marksOf(messagesOf(language), result, sources), name).not.toEqual([]);
    }
  });
});

test.each([
  [
    "web",
    'index.html:4:16: error: there is no file "scirpt.js"\n    4 |   <script src="scirpt.js"></script>\n' +
      '      |                ^~~~~~~~~\n      = did you mean "./script.js"?\n',
    ['error index.html:4:16 there is no file "scirpt.js". Did you mean "./script.js"?'],
  ],
  [
    "react",
    "App.jsx: error: nothing is exported, and nothing is mounted\n      = export the component that is shown\n",
    ["error App.jsx:1:0 nothing is exported, and nothing is mounted. Export the component that is shown"],
  ],
  [
    "vue",
    'App.vue:7:28: error: Unexpected token, expected ")"\n    7 | for (let i = 0; i < 3; i++ {\n',
    ['error App.vue:7:28 Unexpected token, expected ")"'],
  ],
  [
    "web",
    "index.html:2:11: error: there is no file \"x\"\n    2 | <img>\n      = the files are: index.html\n",
    ['error index.html:2:11 there is no file "x"'],
  ],
])("the bundler of %s: %j", (language, stderr, expected) => {
  const path = { web: "index.html", react: "App.jsx", vue: "App.vue" }[language] ?? "";
  expect(inWords(language, ran(stderr, 1, "compile"), none(path))).toEqual(expected);
});

describe("places in other files are no links", () => {
  test.each([
    ["python", '  File "/usr/lib/python3/json/decoder.py", line 3, in decode\nValueError: x\n'],
    ["c", "/usr/include/c++/14/iostream:63:18: note: declared here\nxmain.c:3:1: error: other\n"],
    ["java", "\tat java.base/java.util.Scanner.next(Scanner.java:1632)\n"],
    ["php", "Fatal error: x in other/main.php on line 3\n"],
    ["csharp", "Other.cs(1,1): error CS0103: no\n"],
    ["mysql", "ERROR 1146 (42S02) at line 3 in file: 'x.sql': no\n"],
  ])("%s", (language, stderr) => {
    const path = { python: "main.py", c: "main.c", java: "Main.java", php: "main.php", csharp: "Program.cs" };
    const sources = none(path[language as "c"] ?? "main.sql");
    expect(placesIn(messagesOf(language), stderr, sources)).toEqual([]);
    expect(marksOf(messagesOf(language), ran(stderr), sources)).toEqual([]);
  });

  test("a submitted file with the name of one of the JDK", () => {
    const header = 'Exception in thread "main" java.lang.Error: x\n';
    const frames = "\tat java.base/java.util.Scanner.next(Scanner.java:5)\n\tat Scanner.main(Scanner.java:2)\n";
    expect(inWords("java", ran(header + frames), none("Scanner.java"))).toEqual([
      "error Scanner.java:2:0 Error: x",
    ]);
  });
});

test("the package selects among two files of one name", () => {
  const sources = new Sources("a/Main.java", [
    { path: "a/Main.java", content: "" },
    { path: "b/Main.java", content: "" },
  ]);
  const stderr = "b.Failure: x\n\tat b.Main.go(Main.java:3)\n\tat a.Main.main(Main.java:4)\n";
  expect(placesIn(messagesOf("java"), stderr, sources).map((place) => place.path)).toEqual(["b/Main.java", "a/Main.java"]);
});

test("gcc counts columns as a terminal does", () => {
  const sources = none("main.c", '\tint x = "ä" + 名前 + y;\n');
  const [mark] = marksOf(messagesOf("c"), ran("main.c:1:30: error: ‘y’ undeclared\n", 1, "compile"), sources);
  expect(sources.line("main.c", 1)?.slice((mark?.column ?? 0) - 1)).toBe("y;");
});

test("a text that is too long is read at both ends", () => {
  const noise = "x\n".repeat(400_000);
  const trace = 'Traceback (most recent call last):\n  File "main.py", line 1, in <module>\nValueError: late\n';
  const stderr = noise + trace;
  expect(inWords("python", ran(stderr), none("main.py"))).toEqual(["error main.py:1:0 ValueError: late"]);
});

describe("nothing makes the patterns slow", () => {
  const files = Array.from({ length: 200 }, (_, index) => ({ path: `a/b${index}.php`, content: "" }));
  const sources = new Sources("a/b0.php", files);
  for (const language of languages) {
    for (const part of ["a/b1 ERROR 1 (2) at at (a/b1: ", "ERROR at line 1: x near 'a\n", "    at x (a/b1.php\n"]) {
      checkLinear(`${part.trim()}, ${language}`, (text) => marksOf(messagesOf(language), ran(text), sources), repeated(part));
    }
  }
});

test("the line that psql quotes is the whole one, or has the part", () => {
  const at = (code: string, line: number, quoted: string) => {
    const stderr = `psql:main.sql:${line}: ERROR:  syntax error\nLINE 2: ${quoted}\n        ^\n`;
    return inWords("postgresql", ran(stderr), none("main.sql", code));
  };
  expect(at("SELECT 1\nx\n, max(1)\n;", 4, "x")).toEqual(["error main.sql:2:0 syntax error"]);
  expect(at("SELECT 1\n\tFRM a\n;", 3, " FRM a")).toEqual(["error main.sql:2:0 syntax error"]);
  expect(at("SELECT 1,\n  'much' FRM a\n;", 3, "...uch' FRM a")).toEqual(["error main.sql:2:0 syntax error"]);
  expect(at("SELECT 1\n;", 2, "elsewhere")).toEqual(["error main.sql:2:0 syntax error"]);
});

test("a language of an operator has the marks that its patterns give", () => {
  const messages = {
    places: ["^\\w+: (?<at>(?<path>PATH):(?<line>\\d+)): (?<message>.+)$", "^\\t(?<at>(?<path>PATH):(?<line>\\d+)): in "],
  };
  const stderr = "lua: main.lua:2: bad value\nstack traceback:\n\tmain.lua:5: in main chunk\nmain.lua:1: error: x\n";
  const sources = none("main.lua", "\n".repeat(9));
  expect(marksOf(messages, ran(stderr), sources)).toEqual([
    { path: "main.lua", line: 2, column: 0, severity: "error", message: "bad value" },
  ]);
  expect(placesIn(messages, stderr, sources).map(({ line }) => line)).toEqual([2, 5]);
});

test("an invalid pattern finds nothing", () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const messages = { places: ["(?<at>(?<path>PATH)"] };
  expect(marksOf(messages, ran("main.c:1: error: x"), none("main.c"))).toEqual([]);
  expect(warn).toHaveBeenCalledOnce();
  warn.mockRestore();
});
