// The names after a dot: by literals, declared types, imports and results. The
// lists are short ones of the same shape as those of the images.

import { CompletionContext, type CompletionSource } from "@codemirror/autocomplete";
import { ensureSyntaxTree } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { describe, expect, test } from "vitest";

import { grammarOf } from "../src/editor/languages";
import { Completions } from "../src/editor/members/completions";
import { first, receiver } from "../src/editor/members/expression";
import { Library, split, type MembersFile } from "../src/editor/members/library";
import { support, supportOf } from "../src/editor/support";
import { columnsOf } from "../src/editor/tables";
import { completionsOf, languages, settingsOf } from "./definitions";
import { checkLinear, repeated } from "./linear";

const PYTHON: MembersFile = {
  globals: "open():File input():str str=str list=list ValueError=ValueError",
  modules: {
    math: "pi:float sqrt():float",
    os: "getcwd():str path=os.path",
    "os.path": "join():str",
    "PIL.Image": "open()",
    datetime: "date=datetime.date",
  },
  types: {
    str: { has: "split():list[str] strip():str", own: "*", each: "str" },
    bytes: { has: "hex():str" },
    int: { has: "bit_count():int" },
    float: { has: "is_integer():bool" },
    bool: { is: ["int"] },
    "list[T]": { has: "append() copy():list[T] pop():T", own: "*", each: "T" },
    "set[T]": { has: "add()", each: "T" },
    "dict[K,V]": { has: "get():V keys():list[K]", each: "K", at: "V" },
    tuple: { has: "index():int" },
    File: { has: "read():str", each: "str" },
    ValueError: { has: "args:tuple" },
    "datetime.date": { has: "year:int", own: "* today():datetime.date" },
  },
};
const JAVA: MembersFile = {
  globals: "java=java",
  modules: { java: "util=java.util", "java.util": "List=List" },
  types: {
    Object: { has: "hashCode():int" },
    String: { is: ["Object"], has: "length():int trim():String split():String[]", own: "valueOf():String" },
    "Iterable<T>": { has: "iterator():Iterator<T>", each: "T" },
    "List<E>": { is: ["Iterable<E>"], has: "get():E stream():Stream<E>", own: "of():List<?>" },
    "ArrayList<E>": { is: ["List<E>"] },
    "Map<K,V>": { has: "get():V entrySet():List<Map.Entry<K,V>>", own: "Entry=Map.Entry" },
    "Map.Entry<K,V>": { has: "getKey():K" },
    "Stream<T>": { has: "filter():Stream<T> findFirst():Optional<T> map():Stream<?>" },
    "Optional<T>": { has: "get():T" },
    System: { own: "out:PrintStream" },
    PrintStream: { has: "println()" },
    "E[]": { is: ["Object"], has: "length:int", each: "E" },
  },
};
const JAVASCRIPT: MembersFile = {
  globals: "console:Console document:Document fetch():Promise<Response> Array=Array",
  modules: { react: "useState()" },
  types: {
    Console: { has: "log()" },
    Document: { has: "body:HTMLElement querySelectorAll():NodeListOf<HTMLElement>" },
    HTMLElement: { is: ["Node"], has: "style:CSSStyleDeclaration" },
    Node: { has: "textContent:string" },
    CSSStyleDeclaration: { has: "color:string" },
    "NodeListOf<T>": { has: "item():T", each: "T" },
    Event: { has: "preventDefault()" },
    string: { has: "trim():string" },
    number: { has: "toFixed():string" },
    "Array<T>": { has: "map():Array<?> pop():T forEach()", own: "from():Array<?>", each: "T" },
  },
};
const FILES: Readonly<Record<string, MembersFile>> = { python: PYTHON, java: JAVA, web: JAVASCRIPT, react: JAVASCRIPT, vue: JAVASCRIPT };

/** All that is offered at the bar, which stands for the cursor, when completions have been loaded. */
async function offered(language: string, path: string, code: string, isAsked = false): Promise<string[]> {
  const pos = code.indexOf("|");
  const doc = code.replace("|", "");
  const settings = settingsOf(language);
  const completions = new Completions(() => Promise.resolve(completionsOf(language, FILES[language] ?? {})));
  const grammar = (await grammarOf(path, settings)) ?? [];
  const extensions = [support(), await supportOf(path, settings, completions), grammar];
  const unread = EditorState.create({ doc, extensions });
  ensureSyntaxTree(unread, doc.length, Infinity);
  const { state } = unread.update({});
  const context = new CompletionContext(state, pos, isAsked);
  await completions.members(context, pos);
  const labels: string[] = [];
  for (const source of state.languageDataAt<CompletionSource>("autocomplete", pos)) {
    const found = await source(context);
    const typed = found === null ? "" : state.sliceDoc(found.from, pos).toLowerCase();
    for (const { label } of found?.options ?? []) if (label.toLowerCase().startsWith(typed)) labels.push(label);
  }
  return [...new Set(labels)].sort();
}

const OF_STR = "split strip";
const OF_STRING = "hashCode length split trim";
const OF_LIST = "get iterator stream";
const OF_ELEMENT = "style textContent";
const MEMBERS: [language: string, path: string, code: string, expected: string][] = [
  ["python", "main.py", '"abc".|', OF_STR],
  ["python", "main.py", "print('a'.|)", OF_STR],
  ["python", "main.py", 'f"{1}".|', OF_STR],
  ["python", "main.py", 'b"a".|', "hex"],
  ["python", "main.py", '"""a "b" """.|', OF_STR],
  ["python", "main.py", '("a").|', OF_STR],
  ["python", "main.py", '"a,b".split(",").|', "append copy pop"],
  ["python", "main.py", '"a,b".split(",")[0].|', OF_STR],
  ["python", "main.py", "[1, 2].|", "append copy pop"],
  ["python", "main.py", "[1, 2].pop().|", "bit_count"],
  ["python", "main.py", "[x for x in 'a'].|", "append copy pop"],
  ["python", "main.py", "{}.|", "get keys"],
  ["python", "main.py", "{'a': 1}['a'].|", "bit_count"],
  ["python", "main.py", "{1, 2}.|", "add"],
  ["python", "main.py", "s = 'x'\ns.|", OF_STR],
  ["python", "main.py", "s = 'x' + y\ns.|", OF_STR],
  ["python", "main.py", "s = 'x'\ns = s.strip()\ns.|", OF_STR],
  ["python", "main.py", "s = 'x'\ns = s.|", OF_STR],
  ["python", "main.py", "s = 'x'\nif s.|\ns = 1", OF_STR],
  ["python", "main.py", "größe = 1.5  # m\ngröße.|", "is_integer"],
  ["python", "main.py", "def f():\n    s.|\n\ns = 'x'", OF_STR],
  ["python", "main.py", "s: str\ns.|", OF_STR],
  ["python", "main.py", "def f(a, s: str, n: int = 1):\n    s.|", OF_STR],
  ["python", "main.py", "def f(xs: list[int]):\n    xs.pop().|", "bit_count"],
  ["python", "main.py", "for w in 'a b'.split():\n    w.|", OF_STR],
  ["python", "main.py", "xs = ['a']\nys = [w.strip() for w in xs if w.|]", OF_STR],
  ["python", "main.py", "for k in {'a': 1}:\n    k.|", OF_STR],
  ["python", "main.py", "with open('f') as f:\n    f.|", "read"],
  ["python", "main.py", "f = open('f')\nfor line in f:\n    line.|", OF_STR],
  ["python", "main.py", "try:\n    f()\nexcept ValueError as e:\n    e.|", "args"],
  ["python", "main.py", "import math\nmath.|", "pi sqrt"],
  ["python", "main.py", "import math\nmath.sq|", "sqrt"],
  ["python", "main.py", "import os, math as m\nm.|", "pi sqrt"],
  ["python", "main.py", "import os.path\nos.path.|", "join"],
  ["python", "main.py", "import os.path as p\np.|", "join"],
  ["python", "main.py", "from os import path\npath.|", "join"],
  ["python", "main.py", "from PIL import Image\nImage.|", "open"],
  ["python", "main.py", "from datetime import date as d\nd.today().|", "year"],
  ["python", "main.py", "from datetime import date\ndef f(day: date):\n    day.|", "year"],
  ["python", "main.py", "import datetime\ndatetime.date.|", "today year"],
  ["python", "main.py", "name = input()\nname.|", OF_STR],
  ["python", "main.py", "str.|", OF_STR],
  ["java", "Main.java", 'class A { int n = "a".| }', OF_STRING],
  ["java", "Main.java", "class A { void f(String s) { s.| } }", OF_STRING],
  ["java", "Main.java", "import java.util.*;\nclass A {\n  List<String> xs = f();\n  void g() {\n    xs.|", OF_LIST],
  ["java", "Main.java", "class A { void f(int n, List<Map<String, List<String>>> xs, String s) {\n xs.get(0).get(1).|", OF_LIST],
  ["java", "Main.java", "void main() {\n  var xs = new ArrayList<String>();\n  xs.|", OF_LIST],
  ["java", "Main.java", "void main() {\n  var xs = new ArrayList<>();\n  xs.|", OF_LIST],
  ["java", "Main.java", "void main() {\n  List<String> xs = new ArrayList<>();\n  xs.get(0).|", OF_STRING],
  ["java", "Main.java", "void main() { new ArrayList<String>().|", OF_LIST],
  ["java", "Main.java", "void f(List<String> xs) {\n  xs.stream()\n    .filter(s -> true)\n    .|", "filter findFirst map"],
  ["java", "Main.java", "void f(List<String> xs) {\n  xs.stream().filter(s -> true).findFirst().get().|", OF_STRING],
  ["java", "Main.java", "void f(List<String> xs) {\n  for (String x : xs) {\n    x.|", OF_STRING],
  ["java", "Main.java", "void f(List<String> xs) {\n  for (var x : xs) {\n    x.|", OF_STRING],
  ["java", "Main.java", "void f(Map<String, Integer> m) {\n  for (var e : m.entrySet()) {\n    e.getKey().|", OF_STRING],
  ["java", "Main.java", "void f(String[] xs) {\n  xs[0].|", OF_STRING],
  ["java", "Main.java", "void f(String[] xs) {\n  xs.|", "hashCode length"],
  ["java", "Main.java", "void main() { System.out.|", "println"],
  ["java", "Main.java", "void main() { String.|", "valueOf"],
  ["java", "Main.java", "void main() { xs.map(String::|", "hashCode length split trim valueOf"],
  ["java", "Main.java", "import java.util.|", "List"],
  ["web", "main.js", "document.|", "body querySelectorAll"],
  ["web", "main.js", "document.body.style.|", "color"],
  ["web", "main.js", "for (const p of document.querySelectorAll('p')) {\n  p.|", OF_ELEMENT],
  ["web", "main.js", "document.querySelectorAll('p').forEach((p) => {})\nconst words = ['a'];\nwords.forEach(word => word.|", "trim"],
  ["web", "main.js", "button.addEventListener('click', (e) => {\n  e.|", "preventDefault"],
  ["web", "main.js", "const s = 'x'; s.|", "trim"],
  ["web", "main.js", "Array.|", "from"],
  ["web", "index.html", "<p>console.</p><script>console.|</script>", "log"],
  ["react", "App.jsx", 'import * as React from "react";\nReact.|', "useState"],
  ["react", "App.jsx", 'const [name, setName] = useState("");\nname.|', "trim"],
  ["vue", "App.vue", "<script setup>\nconst xs = [1]\nxs.pop().|\n</script>", "toFixed"],
  // Nothing, if there may be no member.
  ["python", "main.py", "x = f()\nx.|", ""],
  ["python", "main.py", "x = 'a'\nx = f()\nx.|", ""],
  ["python", "main.py", "x = 'a'\ndef f(x):\n    x.|", ""],
  ["python", "main.py", "x = 'a'\nfor i, x in y:\n    x.|", ""],
  ["python", "main.py", "math.|", ""],
  ["python", "main.py", "math = 1\ndef math():\n    math.|", ""],
  ["python", "main.py", "x = 5.|", ""],
  ["python", "main.py", "print(5.|)", ""],
  ["python", "main.py", "# see 'a'.|", ""],
  ["python", "main.py", "s = 's.|'", ""],
  ["python", "main.py", "str = f()\nstr.|", ""],
  ["python", "main.py", "s = s.|", ""],
  ["java", "Main.java", "class String { void f(String s) { Strings.| } }", ""],
  ["java", "Main.java", "void f(String s) { g(s -> s.|", ""],
  ["java", "Main.java", "// xs.|", ""],
  ["web", "index.html", "<p>See document.|</p>", ""],
  ["web", "main.js", "const x = f(); x.|", ""],
  ["web", "style.css", "document.|", ""],
  // Of an unknown type: the members that the file has. Of a known one: no other word.
  ["python", "main.py", "class A:\n  def f(self):\n    self.name = 1\n    self.na|", "name"],
  ["python", "main.py", "s = 'x'\ns.strange\ns.str|", "strip"],
];

test.each(MEMBERS)("%s, %s: after the dot of %j there is: %s", async (language, path, code, expected) => {
  expect((await offered(language, path, code)).join(" ")).toBe(expected);
});

test.each([
  ["python", "main.py", "ma|", "main"],
  ["java", "Main.java", "class A { so| }", "sout"],
  ["c", "main.c", "ma|", "main"],
  ["cpp", "main.cpp", "int main() { co| }", "cout"],
  ["php", "main.php", "<?php\nfore|", "foreach"],
  ["csharp", "Program.cs", "cw|", "cw"],
  ["mysql", "main.sql", "cre|", "CREATE TABLE"],
  ["react", "App.jsx", "comp|", "component"],
])("%s, %s: %j offers the snippet %s", async (language, path, code, label) => {
  expect(await offered(language, path, code)).toContain(label);
});

describe("tables", () => {
  test.each([
    ["CREATE TABLE a (id INT, `my name` TEXT, PRIMARY KEY (id));", { a: ["id", "my name"] }],
    ["create table if not exists db.`b c` (x DECIMAL(4, 2) DEFAULT 1, -- y INT,\n z ENUM('a,b', 'c)') )", { "b c": ["x", "z"] }],
    ["CREATE TABLE a (x INT); ALTER TABLE a ADD COLUMN y INT; ALTER TABLE a ADD INDEX (x);", { a: ["x", "y"] }],
    ["CREATE TABLE a (x INT,\nSELECT 1;", { a: ["x"] }],
    ["-- CREATE TABLE a (x INT);\nSELECT 'CREATE TABLE b (x INT)'", {}],
  ])("%j", (text, expected) => {
    expect(columnsOf(text)).toEqual(expected);
  });

  const BOOKS = "CREATE TABLE books (id INT, title TEXT);\n";
  test.each([
    [`${BOOKS}SELECT * FROM bo|`, ["books"]],
    [`${BOOKS}SELECT books.|`, ["id", "title"]],
    [`${BOOKS}SELECT * FROM books b WHERE b.|`, ["id", "title"]],
    [`${BOOKS}SELECT x.|`, []],
  ])("%j", async (code, expected) => {
    expect((await offered("mysql", "main.sql", code)).filter((label) => label === label.toLowerCase())).toEqual(expected);
  });
});

test("types are read as languages write them", () => {
  expect(split("Map<String, List<Integer>>")).toEqual({ name: "Map", parts: ["String", "List<Integer>"] });
  expect(split("dict[str, list[int]]")).toEqual({ name: "dict", parts: ["str", "list[int]"] });
  expect(split("String[]")).toEqual({ name: "[]", parts: ["String"] });
  expect(split("None | str")).toEqual({ name: "str", parts: [] });
});

test("a list that goes in a circle ends", () => {
  const library = new Library({ snippets: {}, members: { types: { a: { is: ["b"], has: "x" }, b: { is: ["a"], has: "y" } } } });
  expect([...(library.members({ kind: "value", name: "a" }) ?? [])].map(([name]) => name)).toEqual(["x", "y"]);
  expect(library.part({ kind: "value", name: "a" }, "each")).toBeNull();
});

describe("patterns of values and names", () => {
  for (const language of languages) {
    const { values = [], declares = [] } = completionsOf(language, {});
    for (const [pattern] of [...values, ...declares]) {
      test(`${language}: ${pattern} is valid`, () => void new RegExp(pattern, "gu"));
    }
  }
});

for (const part of ["a.", "a(", "[", '"', " ", "a ", "((", "new a<", ".", "?."]) {
  checkLinear(`an expression of ${JSON.stringify(part)}`, (text) => [receiver(`${text}.`), first(text)], repeated(part));
}
