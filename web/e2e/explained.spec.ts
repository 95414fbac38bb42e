// The errors of beginners' programs in plain words, below the errors themselves.

import { faults } from "./accessibility";
import { embed, ended, expect, test } from "./service";
import { replaceCode } from "./typing";

const NO_NETWORK = "Programs have no network here. Add the data to the program as a file.";

/** tests/explain.test.ts reads the words of every language, and of a crash. */
const ALWAYS: readonly string[] = ["a misspelt name"];

const cases: readonly [language: string, what: string, code: string, meaning: string][] = [
  ["python", "a misspelt name", "total = 5\nprint(totle)\n", "Python does not know the name “totle”."],
  ["java", "a missing semicolon", "class Main {\n    void main() {\n        int a = 1\n    }\n}\n", "A semicolon (;) is missing here"],
  ["c", "a missing header", "int main(void) {\n    printf(\"Hi\");\n}\n", "Add the line #include <stdio.h> at the top: it declares printf."],
  ["c", "a null pointer", "int main(void) {\n    int *nothing = 0;\n    *nothing = 5;\n}\n", "The program accessed memory it does not own."],
  ["python", "a download", "import urllib.request\nurllib.request.urlopen('http://example.com')\n", NO_NETWORK],
  ["php", "a download", "<?php\necho file_get_contents('http://example.com');\n", NO_NETWORK],
  ["csharp", "a download", "Console.Write(await new HttpClient().GetStringAsync(\"http://example.com\"));\n", NO_NETWORK],
];

for (const [language, what, code, meaning] of cases) {
  test(`${language}: ${what} in other words`, { tag: ALWAYS.includes(what) ? [] : "@full" }, async ({ page, service, complaints }) => {
    const frame = await embed(page, service, `lang=${language}`);
    await replaceCode(frame.locator(".cm-content"), code);
    await frame.locator("#run").click();
    // Screen readers announce it, and it follows the errors.
    const shown = frame.locator("#streams > .stderr ~ [role=status]");
    await expect(shown.getByRole("heading", { name: "In other words" })).toBeVisible();
    await expect(shown).toContainText(meaning);
    expect(await faults(frame)).toEqual([]);
    expect(complaints).toEqual([]);
  });
}

test("the explanations are loaded after a failure, once, and they end with the next run", async ({ page, service }) => {
  const loaded: string[] = [];
  page.on("request", (request) => void (request.url().includes("explanations") && loaded.push(request.url())));
  const frame = await embed(page, service, "lang=python");
  const run = async (code: string) => {
    await replaceCode(frame.locator(".cm-content"), code);
    await frame.locator("#run").click();
    return ended(frame);
  };
  await run("print(1)\n");
  await expect(frame.locator(".stdout pre")).toHaveText("1\n");
  expect(loaded).toEqual([]);
  await run("print(a)\n");
  await expect(frame.locator(".explained")).toContainText("“a”");
  await run("print(b)\n");
  await expect(frame.locator(".explained")).toContainText("“b”");
  await expect(frame.locator(".explained")).toHaveCount(1);
  await run("print(2)\n");
  await expect(frame.locator(".stdout pre")).toHaveText("2\n");
  await expect(frame.locator(".explained")).toHaveCount(0);
  expect(loaded).toHaveLength(1);
});
