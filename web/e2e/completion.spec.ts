// Completion in the browser, which CSS asks for its properties: Tab takes what
// is offered, Enter only what an arrow key has chosen. The words of each
// language are in tests/completion.test.ts.

import { existsSync, readFileSync, readdirSync } from "node:fs";

import type { Locator, Page } from "@playwright/test";
import { parse } from "smol-toml";

import { embed, expect, languages, test, type Service } from "./service";

/** Other languages differ from these in their words alone. */
const ALWAYS: readonly string[] = ["python", "vue"];
const tagOf = (language: string) => (ALWAYS.includes(language) ? [] : "@full");

const CASES = [
  ["web", "style.css", "p { colo", "color"],
  ["vue", "App.vue", "<style>\np { colo", "color"],
  ["java", "Main.java", "pub", "public"],
  ["csharp", "Program.cs", "fore", "foreach"],
  ["mongodb", "main.js", "db.books.findO", "findOne"],
] as const;

/** An empty file in the editor, the cursor in it. */
async function empty(page: Page, service: Service, language: string, path: string): Promise<{ code: Locator; list: Locator }> {
  await page.clock.install();
  const files = encodeURIComponent(JSON.stringify({ files: [{ path, content: "" }] }));
  const query = `lang=${language}&autosave=off#json=${files}`;
  // A language that has to be chosen is not embedded.
  if (!languages.includes(language)) await page.goto(`${service.url}/editor?${query}`);
  const frame = languages.includes(language) ? await embed(page, service, query) : page;
  const code = frame.locator(".cm-content");
  await code.click();
  return { code, list: frame.getByRole("listbox", { name: "Completions" }) };
}

for (const [language, path, typed, word] of CASES) {
  test(`${language}: Tab completes ${typed} to ${word}`, { tag: tagOf(language) }, async ({ page, service }) => {
    const { code, list } = await empty(page, service, language, path);
    await page.keyboard.type(typed);
    await expect(list.getByRole("option", { name: word, exact: true })).toHaveCount(1);
    await expect(list.getByRole("option").first()).toHaveText(word);
    // For its first 75 ms a list takes no key.
    await page.clock.fastForward(400);
    await page.keyboard.press("Tab");
    await expect(code).toContainText(word);
    await expect(list).toHaveCount(0);
  });
}

/** The text that a person types, and a member that must be offered then. */
const MEMBERS = [
  ["python", "main.py", '"abc".', "upper", "str"],
  ["python", "main.py", "import math\nmath.", "sqrt", ""],
  ["java", "Main.java", "import java.util.*;\nvoid f(List<String> xs) {\nxs.", "add", "boolean"],
  ["web", "main.js", "document.que", "querySelector", "HTMLElement"],
  ["web", "style.css", "p { display: fle", "flex", ""],
  ["mysql", "main.sql", "CREATE TABLE books (id INT, title TEXT);\nSELECT books.", "title", ""],
] as const;

for (const [language, path, typed, member, detail] of MEMBERS) {
  // Of the others, tests/members.test.ts has the members.
  const tag = ['"abc".', "p { display: fle"].includes(typed) ? [] : "@full";
  test(`${language}: ${JSON.stringify(typed)} offers ${member}, and Enter begins a line all the same`, { tag }, async ({ page, service }) => {
    const { code, list } = await empty(page, service, language, path);
    await page.keyboard.type(typed);
    const option = list.getByRole("option").filter({ hasText: new RegExp(`^${member}${detail}$`) });
    await expect(option).toHaveCount(1);
    await page.clock.fastForward(400);
    const before = await code.locator(".cm-line").allTextContents();
    await page.keyboard.press("Enter");
    await expect(code.locator(".cm-line")).not.toHaveCount(before.length);
    const words = (lines: readonly string[]) => lines.join(" ").match(/\w+/g);
    expect(words(await code.locator(".cm-line").allTextContents())).toEqual(words(before));
  });
}

test("members are loaded when typing begins, once", async ({ page, service }) => {
  const loaded: string[] = [];
  page.on("request", (request) => void (request.url().includes("/completions-") && loaded.push(request.url())));
  const { list } = await empty(page, service, "python", "main.py");
  // The rest of the page is there.
  await page.frames().at(-1)?.waitForSelector(".cm-gutter-lint .cm-gutterElement", { state: "attached" });
  expect(loaded).toEqual([]);
  await page.keyboard.type("'a'.upper().lower().", { delay: 100 });
  await expect(list.getByRole("option").filter({ hasText: /^strip/ })).toHaveCount(1);
  expect(loaded).toHaveLength(1);
});

test("the key of Run closes the list, which would cover the output", async ({ page, service }) => {
  const { list } = await empty(page, service, "python", "main.py");
  await page.keyboard.type("pas");
  await expect(list).toBeVisible();
  await page.keyboard.press("Control+Enter");
  await expect(list).toHaveCount(0);
  await expect(page.frameLocator("iframe").locator("#status")).not.toBeEmpty();
});

test("Enter takes what an arrow key has chosen", async ({ page, service }) => {
  const { code, list } = await empty(page, service, "python", "main.py");
  await page.keyboard.type("retur");
  await expect(list.getByRole("option").first()).toHaveText("return");
  await page.clock.fastForward(400);
  await page.keyboard.press("ArrowDown");
  await expect(list.getByRole("option", { selected: true })).toHaveText("return");
  await page.keyboard.press("Enter");
  await expect(code).toHaveText("return");
});

type Typed = readonly [path: string, ...lines: string[]];

/** Words that are whole, or the beginning of others, as the last of a line. */
const WORDS: Readonly<Record<string, Typed>> = {
  python: ["main.py", "break", "pass", "total = 1", "tot", "x = Fals", "return"],
  c: ["main.c", "else", "int", "do", "retur"],
  cpp: ["main.cpp", "return", "else", "name"],
  java: ["Main.java", "int", "break", "clas"],
  php: ["main.php", "<?php", "return", "else", "brea"],
  csharp: ["Program.cs", "return", "var", "Consol"],
  mysql: ["main.sql", "select name", "from users", "order by id"],
  mongodb: ["main.js", "return", "print", "db.apples.find"],
  web: ["main.js", "return", "break", "functio"],
  react: ["App.jsx", "return", "break", "useStat"],
  vue: ["App.vue", "<script>", "const", "return"],
  bash: ["main.sh", "if true", "then", "ech", "fi"],
  go: ["main.go", "return", "func", "packag"],
  javascript: ["main.js", "return", "break", "functio"],
  typescript: ["main.ts", "return", "break", "interfac"],
  postgresql: ["main.sql", "select", "1 from", "order by"],
  sqlite: ["main.sql", "select", "1 from", "order by"],
  ruby: ["main.rb", "return", "els", "puts"],
  rust: ["main.rs", "return", "break", "matc"],
};

/** Of a language without a row its own first words are typed. */
function usual(id: string): Typed {
  const { starter, editor } = parse(readFileSync(`../languages/${id}/language.toml`, "utf8")) as unknown as {
    starter: { entry: string }; editor?: { completion?: { keywords?: string } };
  };
  return [starter.entry, ...(editor?.completion?.keywords ?? "").split(/\s+/).filter((word) => word !== "").slice(0, 2)];
}

for (const language of readdirSync("../languages").filter((id) => existsSync(`../languages/${id}/language.toml`))) {
  const [path, ...lines] = WORDS[language] ?? usual(language);
  test(`${language}: Enter after a word begins a line, whatever is offered`, { tag: tagOf(language) }, async ({ page, service, serve }) => {
    // The shared service has only the languages that are served by default.
    const { url } = languages.includes(language) ? service : await serve(`--languages=${language}`);
    const { code, list } = await empty(page, { ...service, url }, language, path);
    for (const line of lines) {
      await page.keyboard.type(line);
      // A pair that opens by itself and closes nothing is no word.
      if (/^\w.*[a-z]$/.test(line)) await expect(list, line).toBeVisible();
      await page.clock.fastForward(400);
      await page.keyboard.press("Enter");
    }
    await page.keyboard.type("x");
    const found = (await code.locator(".cm-line").allTextContents()).map((line) => line.replace("</script>", "").trim());
    expect(found.filter((line) => line !== "")).toEqual([...lines, "x"]);
  });
}
