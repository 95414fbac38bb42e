// The size of the editor page until it can be typed in.

import { readFileSync } from "node:fs";
import { get } from "node:http";

import type { Request } from "@playwright/test";

import { withFiles } from "./documents";
import { expect, held, languages, test } from "./service";

/** Bytes as they come over the wire, the page itself counted: KB of 1024. */
const BUDGET = { python: 135 * 1024, java: 135 * 1024, others: 190 * 1024 };

interface Chunk {
  file: string;
  imports?: string[];
}
const manifest = JSON.parse(readFileSync("dist/manifest.json", "utf8")) as Record<string, Chunk>;
const grammars = Object.entries(manifest)
  .filter(([source]) => source.startsWith("src/editor/languages/"))
  .map(([, { file }]) => file);

const budgetOf = (language: string) => (language === "python" || language === "java" ? BUDGET[language] : BUDGET.others);

/** The files that a page names, by their paths below `/embed/`. */
async function namedBy(url: string): Promise<string[]> {
  const html = await (await fetch(url)).text();
  return [...html.matchAll(/(?:href|src)="embed\/([^"]+)"/g)].map(([, path = ""]) => path);
}

/** The size of an answer as it comes over the wire. */
const sizeOf = (url: string) =>
  new Promise<number>((resolve, reject) => {
    get(url, { headers: { "Accept-Encoding": "br" } }, (answer) => {
      let sum = 0;
      answer.on("data", (part: Buffer) => (sum += part.length)).on("end", () => resolve(sum));
    }).on("error", reject);
  });

test("the bytes of every page and the files that it names", async ({ service }) => {
  for (const language of languages) {
    const url = `${service.url}/embed?lang=${language}`;
    const files = (await namedBy(url)).map((path) => `${service.url}/embed/${path}`);
    const sizes = await Promise.all([url, ...files].map(sizeOf));
    expect(sizes.reduce((sum, size) => sum + size), language).toBeLessThanOrEqual(budgetOf(language));
  }
});

for (const language of languages) {
  // One whose grammar is a file, and one whose grammar needs others.
  const tag = ["python", "vue"].includes(language) ? [] : "@full";
  test(`${language}: the bytes that are loaded until it can be typed in`, { tag }, async ({ page, service }) => {
    const url = `${service.url}/embed?lang=${language}`;
    const named = await namedBy(url);
    expect(named.filter((path) => grammars.includes(path))).toHaveLength(1);

    // Files that the page does not name are kept back: typing does not need them.
    const { release } = await held(page, (path) => !named.includes(path));
    const loaded: { path: string; bytes: Promise<number>; encoding: Promise<string | undefined> }[] = [];
    const note = (request: Request) => {
      const { origin, pathname } = new URL(request.url());
      expect(origin).toBe(service.url);
      const encoding = request.response().then((response) => response?.headers()["content-encoding"]);
      const bytes = request.sizes().then((sizes) => sizes.responseBodySize);
      loaded.push({ path: pathname.replace(/^\/embed\/?/, ""), bytes, encoding });
    };
    page.on("requestfinished", note);
    await page.goto(url, { waitUntil: "commit" });
    const code = page.locator('.cm-content[contenteditable="true"]');
    await code.click();
    const ms = await page.evaluate(() => Math.round(performance.now()));
    await page.keyboard.type("typed");
    await expect(code).toContainText("typed");
    // Highlighted too: no plain text that waits for its grammar.
    await expect(code.locator("span").first()).toBeVisible();

    // All is asked for at once: no script is found out by another.
    expect(loaded.map(({ path }) => path).sort()).toEqual(["", ...named].sort());
    let sum = 0;
    for (const { path, bytes, encoding } of loaded) {
      expect(await encoding, path).toBe("br");
      expect(await bytes, path).toBeGreaterThan(0);
      sum += await bytes;
    }
    const count = String(loaded.length).padStart(2);
    console.log(`${language.padEnd(8)} ${(sum / 1024).toFixed(1).padStart(6)} KB, ${count} files, ${ms} ms`);
    expect(sum).toBeLessThanOrEqual(budgetOf(language));

    // The rest is loaded, and the typed text stays.
    page.off("requestfinished", note);
    release();
    await page.locator("#menu-button[aria-controls]").waitFor();
    await expect(code).toContainText("typed");
  });
}

const LATER = ["src/run/live.ts", "src/output/dialogue.ts", "src/output/artifacts.ts"];

for (const [query, code, used] of [
  ["", "print(1)", []],
  ["&input=live", "print(input('? '))", ["src/run/live.ts", "src/output/dialogue.ts"]],
  ["&artifacts=1", "open('a.txt', 'w').write('left')", ["src/run/live.ts", "src/output/artifacts.ts"]],
] as const) {
  test(`what a run needs is loaded at the first, with ${JSON.stringify(query)}`, async ({ page, service }) => {
    const asked: string[] = [];
    page.on("request", (request) => void asked.push(new URL(request.url()).pathname.replace(/^\/embed\//, "")));
    const loaded = () => LATER.filter((source) => asked.includes(manifest[source]?.file ?? source));
    await page.goto(`${service.url}/embed?${withFiles(`lang=python${query}`, { "main.py": code })}`);
    // The page is complete.
    await page.locator("#menu-button[aria-controls]").waitFor();
    await page.waitForLoadState("networkidle");
    expect(loaded()).toEqual([]);
    await page.locator("#run").click();
    if (query === "&input=live") await page.getByRole("textbox", { name: "Input", exact: true }).press("Enter");
    await expect(page.locator("#status")).toContainText("Finished");
    await expect.poll(loaded).toEqual(used);
    for (const source of LATER) expect(Object.keys(manifest)).toContain(source);
  });
}
