// Marks in stack traces, and in other messages that have several lines.

import { describe, expect, test } from "vitest";

import { Sources, placesIn } from "../src/errors";
import { inWords, messagesOf, none, ran } from "./marks";

describe("mongosh", () => {
  const sources = new Sources("main.js", [
    { path: "main.js", content: "function inner() {\n}\n" },
    { path: "lib/broken.js", content: "" },
  ]);

  test.each([
    [
      "ReferenceError: missing is not defined\n    at inner (main.js:6)\n    at outer (main.js:2)\n    at main.js:9\n",
      ["error main.js:6:0 ReferenceError: missing is not defined"],
    ],
    [
      "SyntaxError: main.js: Missing semicolon. (3:2)\n\n  1 | print(1)\n> 3 |   use shop\n    |   ^\n",
      ["error main.js:3:3 SyntaxError: Missing semicolon."],
    ],
    [
      "MongoServerError: Document failed validation\nAdditional information: {\n  a: 1\n}\n    at main.js:4\n",
      ["error main.js:4:0 MongoServerError: Document failed validation"],
    ],
    [
      "MongoBulkWriteError: E11000 duplicate key\nResult: _BulkWriteResult {\n  n: 1\n}\n    at main.js:1\n",
      ["error main.js:1:0 MongoBulkWriteError: E11000 duplicate key"],
    ],
    ["NotFound: no document 2\n    at main.js:15\n    at main.js:19\n", ["error main.js:15:0 NotFound: no document 2"]],
    [
      "MongoServerError[BadValue]: unknown operator: $greater\n    at broken (lib/broken.js:3)\n",
      ["error lib/broken.js:3:0 MongoServerError[BadValue]: unknown operator: $greater"],
    ],
    [
      "SyntaxError: main.js: Missing semicolon. (3:2)\n\n> 3 |   use shop\n    at main.js:4\n",
      ["error main.js:3:3 SyntaxError: Missing semicolon."],
    ],
    ["TypeError: x\n    at main.js:99999999999999999999\n    at other.js:3\n", ["error main.js:1e20:0 TypeError: x"]],
  ])("%j", (stderr, expected) => {
    expect(inWords("mongodb", ran(stderr), sources).map((mark) => mark.replace("100000000000000000000", "1e20"))).toEqual(
      expected,
    );
  });
});

describe.each(["javascript", "typescript"])("errors of Node, %s", (language) => {
  const nested = "[errors]: [\n    Error: a\n        at main.js:1:9,\n    Gone [Error]\n        at f (main.js:2:5)\n  ]\n}\n";
  const marked = ["error main.js:1:9 Error: a", "error main.js:2:5 Gone [Error]"];

  test.each([
    [`AggregateError: many\n    at main.js:3:4 {\n  ${nested}`, ["error main.js:3:4 AggregateError: many", ...marked]],
    [`[AggregateError: All promises were rejected] {\n  ${nested}`, marked],
    [
      "Error: outer\n  Error: quoted\n    at main.js:3:9 {\n  [cause]: TypeError: inner\n      at g (main.js:9:3)\n}\n",
      ["error main.js:3:9 Error: outer", "error main.js:9:3 TypeError: inner"],
    ],
    ["words\n\nNotFound\n    at main.js:3:9\n", ["error main.js:3:9 NotFound"]],
    ["NotFound [Error]\n    at main.js:3:9\n", ["error main.js:3:9 NotFound [Error]"]],
    ["Stop: one\ntwo\n    at main.js:3:9\n", ["error main.js:3:9 Stop: one"]],
  ])("%j", (stderr, expected) => {
    expect(inWords(language, ran(stderr), none("main.js"))).toEqual(expected);
  });
});

describe("panics of Go", () => {
  const sources = new Sources("main.go", ["main.go", "words/words.go"].map((path) => ({ path, content: "" })));

  test.each([
    ["panic: boom\n\ngoroutine 1 [running]:\nmain.pick(...)\n\tmain.go:3\nmain.main()\n\tmain.go:9 +0x28\n", "main.go:3:0 panic: boom"],
    [
      "panic: strings: negative Repeat count\n\ngoroutine 1 [running]:\nstrings.Repeat({0x47e0c0?}, 0x4?)\n" +
        "\tstrings/strings.go:624 +0x585\nwords.Line()\n\twords/words.go:5 +0x26\nmain.main()\n\tmain.go:3 +0x26\n",
      "words/words.go:5:0 panic: strings: negative Repeat count",
    ],
    [
      "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\nmain.main()\n\tmain.go:5 +0x25\n\n" +
        "goroutine 18 [chan receive]:\nmain.main.func1()\n\tmain.go:7 +0x1f\ncreated by main.main in goroutine 1\n\tmain.go:6 +0x2d\n",
      "main.go:5:0 fatal error: all goroutines are asleep - deadlock!",
    ],
    [
      "panic: a\n\tb [recovered]\n\tpanic: a\n\tb\n\ngoroutine 1 [running]:\nmain.main.func1()\n\tmain.go:4 +0x1d\n" +
        "panic({0x471560?, 0xc0?})\n\truntime/panic.go:792 +0x132\n",
      "main.go:4:0 panic: a",
    ],
  ])("%j", (stderr, expected) => {
    expect(inWords("go", ran(stderr, 2), sources)).toEqual([`error ${expected}`]);
  });
});

test("an exception group", () => {
  const stderr = `  + Exception Group Traceback (most recent call last):
  |   File "main.py", line 2, in <module>
  |     raise ExceptionGroup("two", [ValueError(1), TypeError(2)])
  | ExceptionGroup: two (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: 1
    +---------------- 2 ----------------
    | TypeError: 2
    +------------------------------------
`;
  expect(inWords("python", ran(stderr), none("main.py"))).toEqual([
    "error main.py:2:0 ExceptionGroup: two (2 sub-exceptions)",
  ]);
});

test("a place of doctest is a link, and has no mark", () => {
  const stderr = 'File "main.py", line 3, in main.f\nFailed example:\n    f()\n';
  expect(placesIn(messagesOf("python"), stderr, none("main.py")).map(({ line }) => line)).toEqual([3]);
  expect(inWords("python", ran(stderr), none("main.py"))).toEqual([]);
});

describe("messages of PHP", () => {
  const sources = new Sources("main.php", ["main.php", "lib/x.php"].map((path) => ({ path, content: "" })));
  const thrown = "Stack trace:\n#0 main.php(9): f()\n#1 {main}\n  thrown in";

  test.each([
    [
      `Fatal error: Uncaught Exception: one\ntwo in main.php:3\n${thrown} main.php on line 3\n`,
      ["error main.php:3:0 Exception: one"],
    ],
    [
      "PHP Warning:  Undefined variable $x in main.php(2) : eval()'d code on line 1\n" +
        "PHP Parse error:  syntax error in main.php(3) : eval()'d code(1) : eval()'d code on line 1\n",
      ["warning main.php:2:0 Warning: Undefined variable $x", "error main.php:3:0 Parse error: syntax error"],
    ],
    [
      "PHP Fatal error:  Uncaught DivisionByZeroError: Division by zero in main.php(2) : eval()'d code:1\n" +
        `${thrown} main.php(2) : eval()'d code on line 1\n`,
      ["error main.php:2:0 DivisionByZeroError: Division by zero"],
    ],
    [
      "PHP Fatal error:  Uncaught RuntimeException: failed:\nException: q in lib/x.php:1\n" +
        `Stack trace:\n#0 main.php(2): f()\n#1 {main} in main.php:3\n${thrown} main.php on line 3\n`,
      ["error main.php:3:0 RuntimeException: failed:"],
    ],
    [
      "PHP Fatal error:  Uncaught TypeError: a\nb, called in main.php on line 3 and defined in lib/x.php:1\n" +
        `${thrown} lib/x.php on line 1\n`,
      ["error lib/x.php:1:0 TypeError: a"],
    ],
    [
      "PHP Fatal error:  Uncaught RangeException: one\ntwo in lib/x.php:5\nStack trace:\n#0 main.php(3): f()\n#1 {main}\n\n" +
        `Next RuntimeException: three\nfour in main.php:9\n${thrown} main.php on line 9\n`,
      ["error lib/x.php:5:0 RangeException: one", "error main.php:9:0 RuntimeException: three"],
    ],
    ["PHP Fatal error:  Uncaught own words\nlike lib/x.php:1\n  thrown in main.php on line 3\n", ["error main.php:3:0 own words"]],
    [
      "PHP Fatal error:  Uncaught Error: endless in main.php:3\nStack trace:\n#0 main.php(3): f()\n#1 main.p",
      ["error main.php:3:0 Error: endless"],
    ],
  ])("%j", (stderr, expected) => {
    expect(inWords("php", ran(stderr, 255), sources)).toEqual(expected);
  });
});

test.each([
  ["Assertion failed.\na > 0\nthe balance is negative", "Assertion failed: a > 0: the balance is negative"],
  ["Assertion failed.\n\nthe balance\n is negative\n", "Assertion failed: the balance: is negative"],
  ["Assertion failed.", "Assertion failed."],
  ["stop\nline two", "stop: line two"],
  ["stop.", "stop."],
])("a process of C# that terminates itself: %j", (words, message) => {
  const stderr = `Process terminated. ${words}\n   at Program.<Main>$(String[] args) in Program.cs:line 4\n`;
  expect(inWords("csharp", ran(stderr, 134), none("Program.cs"))).toEqual([`error Program.cs:4:0 ${message}`]);
});
