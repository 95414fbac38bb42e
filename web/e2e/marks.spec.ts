// Errors of every language as marks beside the code, and as links that lead there.

import type { Frame } from "@playwright/test";

import { faults } from "./accessibility";
import { embed, ended, expect, heldRuns, test } from "./service";
import { replaceCode } from "./typing";

interface Case {
  language: string;
  /** One of the errors that tests/errors.test.ts reads: not by default. */
  tag?: "@full";
  /** Which error: of the compiler, or while it runs. */
  what: string;
  /** Replaces the starter's file of this name. */
  path: string;
  content: string;
  line: number;
  /** A part of the mark's message. */
  message: string;
}

const cases: Case[] = [
  {
    language: "python", what: "syntax", path: "main.py",
    content: "total = 1\nif total\n    print(total)\n", line: 2, message: "expected ':'",
  },
  {
    language: "python", what: "run time", tag: "@full", path: "main.py",
    content: "def half(n):\n    return n / 0\n\nhalf(2)\n", line: 2, message: "ZeroDivisionError: division by zero",
  },
  {
    language: "python", what: "run time in another file", tag: "@full", path: "words.py",
    content: "# Counts.\ndef most_common(text, limit):\n    return text[1000]\n", line: 3,
    message: "IndexError: string index out of range",
  },
  {
    language: "c", what: "syntax", tag: "@full", path: "main.c",
    content: "int main(void) {\n    int a = 1\n    return a;\n}\n", line: 3, message: "expected ‘,’ or ‘;’ before ‘return’",
  },
  {
    language: "c", what: "run time", tag: "@full", path: "main.c",
    content: "#include <assert.h>\nint main(void) {\n    int age = -1;\n    assert(age >= 0);\n}\n", line: 4,
    message: "Assertion `age >= 0' failed.",
  },
  {
    language: "cpp", what: "syntax", tag: "@full", path: "main.cpp",
    content: '#include <iostream>\nint main() {\n    std::cuot << "a";\n}\n', line: 3,
    message: "‘cuot’ is not a member of ‘std’",
  },
  {
    language: "cpp", what: "run time", tag: "@full", path: "main.cpp",
    content: "#include <cassert>\n\nint main() {\n    assert(1 + 1 == 3);\n}\n", line: 4,
    message: "Assertion `1 + 1 == 3' failed.",
  },
  {
    language: "java", what: "syntax", tag: "@full", path: "Main.java",
    content: "class Main {\n    void main() {\n        int a = 1\n    }\n}\n", line: 3, message: "';' expected",
  },
  {
    language: "java", what: "run time", tag: "@full", path: "Main.java",
    content: "class Main {\n    public static void main(String[] args) {\n        int zero = args.length;\n" +
      "        System.out.println(1 / zero);\n    }\n}\n",
    line: 4, message: "ArithmeticException: / by zero",
  },
  {
    language: "php", what: "syntax", tag: "@full", path: "main.php",
    content: "<?php\n$a = 1;\n$b = ;\n", line: 3, message: 'Parse error: syntax error, unexpected token ";"',
  },
  {
    language: "php", what: "run time", tag: "@full", path: "main.php",
    content: "<?php\nfunction half(int $n) {\n    return intdiv($n, 0);\n}\nhalf(2);\n", line: 3,
    message: "DivisionByZeroError: Division by zero",
  },
  {
    language: "csharp", what: "unknown name", tag: "@full", path: "Program.cs",
    content: "using Birds;\nConsole.WriteLine(1);\nConsole.WriteLine(birds);\n", line: 3,
    message: "The name 'birds' does not exist in the current context",
  },
  {
    language: "csharp", what: "run time", tag: "@full", path: "Program.cs",
    content: "int[] ages = [1, 2];\nint at = 2;\nConsole.WriteLine(ages[at]);\n", line: 3,
    message: "IndexOutOfRangeException: Index was outside the bounds of the array.",
  },
  {
    language: "mysql", what: "syntax", tag: "@full", path: "main.sql",
    content: "SELECT 1;\nSELECT 2,\nFROM dual;\n", line: 3, message: "Syntax error near 'FROM dual'",
  },
  {
    language: "mysql", what: "run time", tag: "@full", path: "main.sql",
    content: "SELECT 1;\n\nSELECT name FROM nowhere;\n", line: 3, message: "Table 'sandbox.nowhere' doesn't exist",
  },
  {
    language: "mongodb", what: "syntax", tag: "@full", path: "main.js",
    content: "db.birds.insertOne({ _id: 1 })\ndb.birds.find({ _id: 1 )\n", line: 2, message: "SyntaxError: Unexpected token",
  },
  {
    language: "mongodb", what: "run time", tag: "@full", path: "main.js",
    content: "db.birds.insertOne({ _id: 1 })\n\ndb.birds.insertOne({ _id: 1 })\n", line: 3, message: "E11000 duplicate key",
  },
  {
    language: "web", what: "missing file", path: "index.html",
    content: '<!doctype html>\n<title>Tides</title>\n<script src="scirpt.js"></script>\n', line: 3,
    message: 'there is no file "scirpt.js"',
  },
  {
    language: "web", what: "syntax", tag: "@full", path: "main.js",
    content: 'import { tides } from "./tides.js";\n\nconst all = tides(1;\n', line: 3, message: 'Expected ")"',
  },
  {
    language: "react", what: "syntax", tag: "@full", path: "App.jsx",
    content: "export default function App() {\n  return <main>Walks</mian>;\n}\n", line: 2, message: "closing",
  },
  {
    language: "react", what: "missing file", tag: "@full", path: "App.jsx",
    content: 'import "./style.css";\nimport { Walk } from "./Wlak.jsx";\nexport default () => <Walk />;\n', line: 2,
    message: "Wlak.jsx",
  },
  {
    language: "vue", what: "syntax in the script", tag: "@full", path: "App.vue",
    content: "<script setup>\nconst names = [1, 2;\n</script>\n\n<template><p>a</p></template>\n", line: 2,
    message: "Unexpected token",
  },
  {
    language: "vue", what: "syntax in the template", path: "App.vue",
    content: "<template>\n  <main>\n    <p>Walks</main>\n</template>\n", line: 3, message: "missing end tag",
  },
];

for (const { language, what, tag = [], path, content, line, message } of cases) {
  test(`${language}: an error is marked (${what})`, { tag }, async ({ page, service, complaints }) => {
    const frame = await embed(page, service, `lang=${language}`);
    await show(frame, path);
    await replaceCode(frame.locator(".cm-content"), content);
    // From another file the link leads to this one.
    const others = frame.getByRole("tab").filter({ hasNotText: path });
    if ((await others.count()) > 0) await others.first().click();
    await frame.locator("#run").click();
    expect(await ended(frame)).not.toMatch(/^Finished in/);
    await frame.locator(".stderr").getByTitle(`Go to line ${line} of ${path}`).first().click();
    await expect(frame.locator('[role="tab"][aria-selected="true"]')).toContainText(path);
    await expect(frame.locator(".cm-content")).toBeFocused();
    await expect(frame.locator(".cm-lineNumbers .cm-activeLineGutter")).toHaveText(String(line));
    expect(await markedLines(frame)).toContain(line);
    await frame.locator(".cm-lint-marker-error").first().hover();
    await expect(frame.locator(".cm-tooltip-lint").first()).toContainText(message);
    expect(complaints).toEqual([]);
  });
}

test("c: the line of a crash is marked with api=run", async ({ page, service, complaints }) => {
  const frame = await embed(page, service, "lang=c&api=run");
  await replaceCode(frame.locator(".cm-content"), "int main(int n, char **a) {\n    int *age = 0;\n    *age = n;\n}\n");
  await frame.locator("#run").click();
  expect(await ended(frame)).toMatch(/^Crashed in main\.c, line 3, after [\d.]+ s: Segmentation fault$/);
  expect(await markedLines(frame)).toEqual([3]);
  await frame.locator(".cm-lint-marker-error").first().hover();
  await expect(frame.locator(".cm-tooltip-lint").first()).toContainText("The program crashed here: it accessed memory");
  expect(await faults(frame)).toEqual([]);
  expect(complaints).toEqual([]);
});

const warned: readonly [language: string, code: string, line: number, message: string][] = [
  ["c", '#include <stdio.h>\nint main(void) {\n    printf("%d\\n", "five");\n}\n', 3, "format ‘%d’ expects argument of type ‘int’"],
  ["cpp", "#include <iostream>\nint main() {\n    int sum;\n    std::cout << 1;\n}\n", 3, "unused variable ‘sum’"],
  ["java", "class Main {\n    void main() {\n        java.util.List list = new java.util.ArrayList<String>();\n    }\n}\n", 3, "[rawtypes] found raw type: List"],
];

for (const [language, code, line, message] of warned) {
  const tag = language === "c" ? [] : "@full";
  test(`${language}: with warnings=1, code that compiles is marked too`, { tag }, async ({ page, service, complaints }) => {
    const frame = await embed(page, service, `lang=${language}&warnings=1`);
    await replaceCode(frame.locator(".cm-content"), code);
    await frame.locator("#run").click();
    await expect(frame.getByRole("region", { name: "Warnings" })).toContainText(message);
    await frame.locator(".warnings .place").first().click();
    await expect(frame.locator(".cm-lineNumbers .cm-activeLineGutter")).toHaveText(String(line));
    await frame.locator(".cm-lint-marker-warning").first().hover();
    await expect(frame.locator(".cm-tooltip-lint").first()).toContainText(message);
    await expect(frame.locator(".cm-lint-marker-error")).toHaveCount(0);
    expect(await faults(frame)).toEqual([]);
    expect(complaints).toEqual([]);
  });
}

test("the tab of another file that has an error is marked; a mark goes with the next run", async ({ page, service, complaints }) => {
  const frame = await embed(page, service, "lang=python");
  await show(frame, "words.py");
  await replaceCode(frame.locator(".cm-content"), "def most_common(text, limit):\n    return text[1000]\n");
  const faulty = frame.getByRole("tab", { name: "words.py (has an error)" });
  await frame.locator("#run").click();
  await ended(frame);
  // The file is shown: its marks are beside the code.
  await expect(frame.getByRole("tab", { name: "words.py", exact: true })).toHaveAttribute("aria-selected", "true");
  await expect(frame.locator(".cm-lint-marker-error")).toHaveCount(1);
  await show(frame, "main.py");
  await expect(faulty).toBeVisible();
  await frame.locator("#run").click();
  await ended(frame);
  await expect(faulty).toBeVisible();
  await expect(frame.getByRole("tab", { name: /has an error/ })).toHaveCount(1);
  expect(await faults(frame, ["#tabs"])).toEqual([]);
  await show(frame, "words.py");
  const code = frame.locator(".cm-content");
  for (const key of ["ControlOrMeta+Home", "End", "Enter"]) await code.press(key);
  await page.keyboard.type("return []");
  // The line of the error is still there, and so is its mark.
  await expect(frame.locator(".cm-lint-marker-error")).toHaveCount(1);
  await show(frame, "main.py");
  await frame.locator("#run").click();
  await expect(frame.locator("#status")).toContainText("Finished in");
  await expect(faulty).toHaveCount(0);
  await show(frame, "words.py");
  await expect(frame.locator(".cm-lint-marker")).toHaveCount(0);
  expect(complaints).toEqual([]);
});

test("a file that was changed while its program ran gets no marks", async ({ page, service }) => {
  const frame = await embed(page, service, "lang=python");
  const code = frame.locator(".cm-content");
  await replaceCode(code, "1 / 0");
  const release = await heldRuns(page);
  await frame.locator("#run").click();
  await replaceCode(code, "print(1)");
  release();
  expect(await ended(frame)).toContain("exit code 1");
  await expect(frame.locator(".stderr")).toContainText("ZeroDivisionError");
  await expect(frame.locator(".cm-lint-marker")).toHaveCount(0);
  await expect(frame.getByRole("tab", { name: /has an error/ })).toHaveCount(0);
});

test("typing over a selection replaces it, and nothing complains", async ({ page, service, complaints }) => {
  const frame = await embed(page, service, "lang=python");
  const code = frame.locator(".cm-content");
  // The code that closes brackets is loaded after the editor.
  await frame.locator("#menu-button[aria-controls]").waitFor();
  await code.click();
  await page.keyboard.press("Control+A");
  await page.keyboard.type("words");
  await expect(code).toHaveText("words");
  await page.keyboard.press("Control+A");
  // Brackets still close around a selection.
  await page.keyboard.type("(");
  await expect(code).toHaveText("(words)");
  await page.keyboard.press("Control+Z");
  await expect(code).toHaveText("words");
  expect(complaints).toEqual([]);
});

async function show(frame: Frame, path: string): Promise<void> {
  const tab = frame.getByRole("tab", { name: path });
  await tab.click();
  await expect(tab).toHaveAttribute("aria-selected", "true");
}

/** The numbers of the lines beside which an error is marked. */
function markedLines(frame: Frame): Promise<number[]> {
  return frame.evaluate(() => {
    const numbers = [...document.querySelectorAll(".cm-lineNumbers .cm-gutterElement")];
    const marks = [...document.querySelectorAll(".cm-gutter-lint .cm-gutterElement:has(.cm-lint-marker-error)")];
    const top = (one: Element) => one.getBoundingClientRect().top;
    // The first one only measures the width.
    const shown = numbers.filter((one) => (one as HTMLElement).style.visibility !== "hidden");
    return marks.map((mark) => Number(shown.find((one) => Math.abs(top(one) - top(mark)) < 1)?.textContent));
  });
}
