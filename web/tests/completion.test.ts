// Completions while a person types, for each language.

import { CompletionContext, type CompletionResult, type CompletionSource } from "@codemirror/autocomplete";
import { ensureSyntaxTree } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { describe, expect, test } from "vitest";

import { grammarOf } from "../src/editor/languages";
import { support, supportOf } from "../src/editor/support";
import { settingsOf } from "./definitions";

/** The words that are offered at the bar, which stands for the cursor, once each source. */
async function offered(language: string, path: string, code: string, isAsked = false): Promise<string[]> {
  const pos = code.indexOf("|");
  const doc = code.replace("|", "");
  const settings = settingsOf(language);
  const extensions = [support(), await supportOf(path, settings), (await grammarOf(path, settings)) ?? []];
  const unread = EditorState.create({ doc, extensions });
  // It is read for 20 ms at first, which a busy machine may not give it; the next state has all that is read here.
  ensureSyntaxTree(unread, doc.length, Infinity);
  const { state } = unread.update({});
  const context = new CompletionContext(state, pos, isAsked);
  const labels: string[] = [];
  for (const source of state.languageDataAt<CompletionSource>("autocomplete", pos)) {
    const found: CompletionResult | null = await source(context);
    const typed = found === null ? "" : state.sliceDoc(found.from, pos);
    for (const { label } of found?.options ?? []) if (label.startsWith(typed)) labels.push(label);
  }
  return labels;
}

test("a file with an odd ending is plain text", async () => {
  for (const path of ["notes", "a.constructor", "a.__proto__"]) expect(await grammarOf(path, settingsOf("python"))).toBeNull();
});

// The properties of CSS are those of the browser: e2e/completion.spec.ts.
const OFFERED: [language: string, path: string, code: string, word: string][] = [
  ["python", "main.py", "def f():\n    ret|", "return"],
  ["python", "main.py", "pri|", "print"],
  ["python", "main.py", "weather = 1\nprint(wea|)", "weather"],
  ["c", "main.c", "int main(void) { ret| }", "return"],
  ["c", "main.c", "int main(void) { prin| }", "printf"],
  ["c", "main.c", "int main(void) { int weather = 1; wea| }", "weather"],
  ["c", "main.c", "#inc|", "include"],
  ["cpp", "main.cpp", "names|", "namespace"],
  ["cpp", "main.cpp", "int main() { int weather = 1; wea| }", "weather"],
  ["cpp", "board.hpp", "temp|", "template"],
  ["java", "Main.java", "pub|", "public"],
  ["java", "Main.java", "class A { Str| }", "String"],
  ["java", "Main.java", "class A { void f() { int weather = 1; wea| } }", "weather"],
  ["php", "main.php", "<?php\nfunc|", "function"],
  ["php", "main.php", "<?php\nstr_r|", "str_repeat"],
  ["php", "main.php", "<?php\n$weather = 1;\necho $wea|", "$weather"],
  ["csharp", "Program.cs", "fore|", "foreach"],
  ["csharp", "Program.cs", "Cons|", "Console"],
  ["csharp", "Program.cs", "var weather = 1;\nwea|", "weather"],
  ["mysql", "main.sql", "SEL|", "SELECT"],
  ["mysql", "main.sql", "CREATE TABLE weather (id INT);\nSELECT * FROM wea|", "weather"],
  ["mongodb", "main.js", "con|", "const"],
  ["mongodb", "main.js", "db.books.insertOne({})\ndb.|", "books"],
  ["mongodb", "main.js", "db.getSib|", "getSiblingDB"],
  ["mongodb", "main.js", "db.books.fi|", "findOne"],
  ["mongodb", "main.js", "db.books.find().so|", "sort"],
  ["mongodb", "main.js", "db.books.aggregate([{ $gr| }])", "$group"],
  ["mongodb", "main.js", "const weather = 1; wea|", "weather"],
  ["web", "index.html", "<bu|", "button"],
  ["web", "index.html", "<p cla|", "class"],
  ["web", "index.html", "<script>cons|</script>", "const"],
  ["web", "main.js", "ret|", "return"],
  ["web", "main.js", "const weather = 1; wea|", "weather"],
  ["react", "App.jsx", "exp|", "export"],
  ["react", "App.jsx", "function App() { const weather = 1; return wea| }", "weather"],
  ["react", "App.jsx", "const App = () => <main cla|></main>", "className"],
  ["react", "App.jsx", "const App = () => <bu|", "button"],
  ["vue", "App.vue", "<script setup>\ncons|\n</script>", "const"],
  ["vue", "App.vue", "<template><bu|</template>", "button"],
  ["vue", "App.vue", "<template><p v-i|></p></template>", "v-if"],
  ["vue", "App.vue", "<script setup>\nconst weather = 1; wea|\n</script>", "weather"],
  ["vue", "App.vue", "<template><p @cl|></p></template>", "@click"],
  // Members that the file has of the same name; the classes of CSS are none.
  ["python", "main.py", "class A:\n  def f(self):\n    self.name = 1\n    self.na|", "name"],
  ["java", "Main.java", "class A { int a; void f() { this.apple = this.ap| } }", "apple"],
  ["cpp", "main.cpp", "int main() { p->left; p->le| }", "left"],
  ["web", "style.css", ".header { color: red }\n.hea|", "header"],
];

test.each(OFFERED)("%s, %s: %j offers %s", async (language, path, code, word) => {
  expect(await offered(language, path, code)).toContain(word);
});

describe("nothing is offered where it would disturb", () => {
  test.each([
    ["python", "main.py", "weather = 1  # the wea|"],
    ["python", "main.py", "weather = 'wea|'"],
    ["c", "main.c", "/* int| */"],
    ["c", "main.c", 'char *s = "int|";'],
    ["java", "Main.java", "class A {} // pub|"],
    ["php", "main.php", "<?php\n// func|"],
    ["csharp", "Program.cs", "// fore|"],
    ["csharp", "Program.cs", 'var s = "fore|";'],
    ["mysql", "main.sql", "-- SEL|"],
    ["mongodb", "main.js", "// db.|"],
    ["web", "index.html", "<p class=weather>The wea|</p>"],
    ["react", "App.jsx", "const weather = <p>The wea|</p>"],
    // One letter is too little to guess from.
    ["c", "main.c", "int i; i|"],
    ["java", "Main.java", "class A { int i = i| }"],
    ["csharp", "Program.cs", "var i = 1;\ni|"],
    ["mysql", "main.sql", "SELECT a FROM B|"],
  ])("%s, %s: %j", async (language, path, code) => {
    expect(await offered(language, path, code)).toEqual([]);
  });
});

test.each([
  ["python", "main.py", "import math\nabsent = 1\nmath.|"],
  ["python", "main.py", "space = words.sp|"],
  ["c", "main.c", "int main(void) { int ret; p->re| }"],
  ["cpp", "main.cpp", "int main() { std::| }"],
  ["cpp", "main.cpp", "int main() { p->ret| }"],
  ["java", "Main.java", "class A { int a = b.pub| }"],
  ["java", "Main.java", "class A { void f() { System.| } }"],
  ["csharp", "Program.cs", "Console.|"],
  ["php", "main.php", "<?php\n$apple->ap|"],
  ["php", "main.php", "<?php\nDateTime::cr|"],
  ["mysql", "main.sql", "SELECT t.|"],
  ["mysql", "main.sql", "SELECT t.SEL|"],
  ["mongodb", "main.js", "print.|"],
  ["web", "main.js", "let logged; console.lo|"],
  ["react", "App.jsx", "const App = () => document.|"],
  ["vue", "App.vue", "<script setup>\nconst apple = 1; b.ap|\n</script>"],
])("%s, %s: after the dot of %j nothing is offered that may be no member, asked for or not", async (language, path, code) => {
  for (const isAsked of [false, true]) expect(await offered(language, path, code, isAsked)).toEqual([]);
});

test("a grammar that is not bundled is plain text, with the words of the language", async () => {
  const settings = { ...settingsOf("python"), grammars: { zzz: "none" }, extensions: ["zzz"] };
  expect(await grammarOf("main.zzz", settings)).toBeNull();
  const extension = await supportOf("main.zzz", settings);
  const { state } = EditorState.create({ doc: "ret", extensions: [support(), extension] }).update({});
  const sources = state.languageDataAt<CompletionSource>("autocomplete", 3);
  const found = await Promise.all(sources.map((source) => source(new CompletionContext(state, 3, true))));
  expect(found.flatMap((result) => result?.options.map(({ label }) => label) ?? [])).toContain("return");
});

test("files without a language offer their own words", async () => {
  expect(await offered("python", "notes.txt", "weather\nwea|")).toEqual(["weather"]);
});
