// The editors that embed.js makes from the attributes of elements.

import { expect, test } from "vitest";

import { canGrow, expectedOf, fileOf, frameUrl, grownHeight, keyOf, reservedHeight, namedLanguage, type CodeFile } from "../src/embed-js/attributes";
import { languageOf } from "../src/embed-js/names";
import { readFragment } from "../src/parent/fragment";
import { readParameters } from "../src/config";
import { names } from "./definitions";

const BASE = "https://run.example/prefix/embed.js";

test("languages by the names that people write", () => {
  expect(["python", "PY ", "c++", "C#", "html", "vue"].map((name) => languageOf(name, names))).toEqual([
    "python", "python", "cpp", "csharp", "web", "vue",
  ]);
  for (const name of ["", "cobol", "constructor", "__proto__"]) expect(languageOf(name, names)).toBeNull();
});

test("the language that an element names, or the code in it", () => {
  const marked = (className: string, lang?: string) => ({ className, dataset: { lang } });
  expect(namedLanguage([marked("", "python"), marked("language-c")])).toBe("python");
  expect(namedLanguage([marked("highlight"), marked("hljs language-c++ x")])).toBe("c++");
  expect(namedLanguage([marked("lang-py")])).toBe("py");
  expect(namedLanguage([marked("slang-py"), marked("language-")])).toBe("");
});

test("attributes become parameters, and the code a fragment that the page reads", async () => {
  const files = [{ content: "print('ü & #')\n" }];
  const dataset = { lang: "py", theme: "dark", readonly: "", hide: "stdin", fontSize: "16", input: "live", artifacts: "", entry: undefined };
  const url = new URL(frameUrl(BASE, { language: "python", address: "embed", dataset, files }, "https://host.example", "abc"));
  expect(url.origin + url.pathname).toBe("https://run.example/prefix/embed");
  expect(readParameters(url.search)).toMatchObject({
    theme: "dark",
    readonly: true,
    fontSize: 16,
    input: "live",
    artifacts: true,
    autosave: "abc",
    parentOrigin: "https://host.example",
  });
  expect(url.searchParams.get("lang")).toBe("python");
  expect((await readFragment(url.hash, "main.py"))?.value).toEqual({
    entryFile: "main.py",
    files: [{ path: "main.py", content: "print('ü & #')\n" }],
    stdin: "",
  });
});

test("a page without an origin names none, and no code means the starter", () => {
  const url = frameUrl(BASE, { language: "go", address: "editor", dataset: { autosave: "mine" }, files: [] }, "null", "abc");
  expect(url).toBe("https://run.example/prefix/editor?lang=go&autosave=mine");
});

test("several files, the entry named", async () => {
  const files = [
    { path: "Shape.java", content: "" },
    { path: "Main.java", content: "" },
  ];
  const wanted = { language: "java", address: "embed" as const, dataset: { entry: "Main.java", stdin: "5" }, files };
  const { hash } = new URL(frameUrl(BASE, wanted, "", "abc"));
  const read = await readFragment(hash, "Other.java");
  expect(read?.value).toMatchObject({ entryFile: "Main.java", stdin: "5", files });
});

test("code loses the line break after the tag", () => {
  expect(fileOf({}, "\n  a\n\n b \n\n")).toEqual({ content: "  a\n\n b\n" });
  expect(fileOf({ file: "a.py" }, "a")).toEqual({ path: "a.py", content: "a\n" });
});

test("restrictions of a file become a part of the code that the page reads", async () => {
  const files = [
    fileOf({ file: "main.py" }, "a\nb"),
    fileOf({ file: "check.py", hidden: "" }, "c"),
    fileOf({ file: "all.py", locked: "" }, "d"),
    fileOf({ file: "some.py", locked: "2 - 3, 1,5-" }, "1\n2\n3\n4\n5"),
    // As JSX writes them.
    fileOf({ file: "a.py", hidden: "true" }, ""),
    fileOf({ file: "b.py", locked: "true" }, ""),
    fileOf({ file: "c.py", hidden: "false", locked: "false" }, ""),
  ];
  const { hash } = new URL(frameUrl(BASE, { language: "python", address: "embed", dataset: {}, files }, "", "abc"));
  const read = (await readFragment(hash, "main.py"))?.value?.files.map(({ hidden, locked }) => ({ hidden, locked }));
  expect(read).toEqual([{}, { hidden: true }, { locked: true }, { locked: "2 - 3, 1,5-" }, { hidden: true }, { locked: true }, {}]);
});

test("space is reserved for the frame, which grows but never shrinks", () => {
  const files = [{ content: "x\n".repeat(20) }];
  expect(reservedHeight({ height: "300" }, files, 800)).toBe(300);
  expect(reservedHeight({ height: "auto" }, files, 800)).toBe(541);
  expect(reservedHeight({}, files, 320)).toBe(701);
  expect(reservedHeight({}, [], 800)).toBe(280);
  expect(reservedHeight({ maxHeight: "400" }, files, 320)).toBe(400);
  expect(reservedHeight({}, [{ content: "x\n".repeat(2000) }], 800)).toBe(620);
  expect([canGrow({ height: "300" }), canGrow({ height: "auto" }), canGrow({})]).toEqual([false, true, true]);
  expect(grownHeight({}, 300, 420.5)).toBe(421);
  expect(grownHeight({}, 300, 200)).toBe(300);
  expect(grownHeight({}, 300, 5000)).toBe(900);
  expect(grownHeight({ maxHeight: "400" }, 300, 5000)).toBe(400);
  expect(grownHeight({ maxHeight: "200" }, 300, 5000)).toBe(300);
  expect(grownHeight({}, 300, "javascript:")).toBe(300);
});

test("each page, language and set of files has a key", () => {
  const key = (pathname: string, search = "", language = "python", files = [{ content: "" }] as CodeFile[], hash = "") =>
    keyOf({ pathname, search, hash }, language, files);
  const check = (other: string, isSame: boolean) => expect(other === key("/a")).toBe(isSame);
  expect(key("/a")).toMatch(/^[0-9a-z]+$/);
  check(key("/b"), false);
  check(key("/a", "", "c"), false);
  check(key("/a", "", "python", [{ path: "a.py", content: "" }]), false);
  check(key("/a", "", "python", [{ content: "changed" }]), true);
  check(key("/a", "?p=1"), false);
  expect(key("/a", "?p=1")).not.toBe(key("/a", "?p=2"));
  check(key("/a", "?utm_source=x&fbclid=y&gclid=z"), true);
  // Some sites have their pages in the fragment, and places in them behind those.
  const at = (hash: string) => key("/a", "", "python", [{ content: "" }], hash);
  for (const [hash, isSame] of [["#/lesson-2", false], ["#!lesson-2", false], ["#section", true]] as const) {
    check(at(hash), isSame);
  }
  for (const place of ["?id=loops", "#loops"]) expect(at(`#/lesson-2${place}`)).toBe(at("#/lesson-2"));
});

test("the expected output is all that the element has", () => {
  const check = (localName: string, textContent: string, expected: string) =>
    expect(expectedOf({ localName, textContent })).toBe(expected);
  check("pre", "12", "12");
  check("pre", "12\n", "12\n");
  check("pre", "1 2 3 \n  ", "1 2 3 \n");
  check("pre", "\n1\n\n", "\n1\n\n");
  check("template", "\n1\n", "1\n");
  check("div", "\r\n1 \n\t", "1 \n");
});
