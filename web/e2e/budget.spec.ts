// What the editor page costs until it can be typed in, and that nothing on it
// moves while it comes, nor while a program runs.

import { readFileSync } from "node:fs";

import type { Page } from "@playwright/test";

import { ended, expect, languages, test } from "./service";

/** Thousands of bytes as they come over the wire: the page, its scripts and styles. */
const MOST = { python: 180, java: 180, others: 235 };

interface Chunk {
  file: string;
  imports?: string[];
}
const manifest = JSON.parse(readFileSync("dist/manifest.json", "utf8")) as Record<string, Chunk>;
const grammars = Object.entries(manifest)
  .filter(([source]) => source.startsWith("src/editor/languages/"))
  .map(([, { file }]) => file);

/** Adds up all that moves without the person having done anything. */
async function watchShifts(page: Page): Promise<() => Promise<string[]>> {
  await page.addInitScript(() => {
    type Source = { node: Node | null; previousRect: DOMRect; currentRect: DOMRect };
    const shifts: string[] = [];
    Object.assign(window, { shifts });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const { value, sources } = entry as unknown as { value: number; sources: Source[] };
        const what = sources.map(({ node, previousRect: from, currentRect: to }) => {
          const name = node instanceof Element ? `${node.tagName}#${node.id}.${node.className}` : "text";
          return `${name} ${from.x},${from.y} to ${to.x},${to.y}`;
        });
        // The editor uses the elements of its lines again, for other lines.
        const isLine = ({ node }: Source) => {
          const inside = node instanceof Element ? node : node?.parentElement;
          return inside?.closest(".cm-line") != null;
        };
        if (!sources.every(isLine)) shifts.push(`${value.toFixed(4)} ${what.join("; ")}`);
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
  return () =>
    page.evaluate(async () => {
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 100)));
      return (window as unknown as { shifts: string[] }).shifts;
    });
}

for (const language of languages) {
  test(`${language}: what is loaded until it can be typed in`, async ({ browser, service }) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const loaded: { path: string; bytes: Promise<number>; encoding: Promise<string | undefined> }[] = [];
    page.on("requestfinished", (request) => {
      const url = new URL(request.url());
      expect(url.origin).toBe(service.url);
      const encoding = request.response().then((response) => response?.headers()["content-encoding"]);
      loaded.push({ path: url.pathname, bytes: request.sizes().then((sizes) => sizes.responseBodySize), encoding });
    });
    await page.goto(`${service.url}/embed?lang=${language}`);
    await page.waitForSelector(".cm-content");
    const ms = await page.evaluate(() => Math.round(performance.now()));
    await page.waitForLoadState("networkidle");

    const scripts = loaded.map(({ path }) => path.replace(/^\/embed\//, "")).filter((path) => path.endsWith(".js"));
    expect(scripts.filter((path) => grammars.includes(path))).toHaveLength(1);
    const named = await page.evaluate(() =>
      [...document.querySelectorAll("link[rel=modulepreload], script[src]")].map(
        (found) => found.getAttribute("href") ?? found.getAttribute("src"),
      ),
    );
    // All is asked for at once: no script is found out by another.
    expect(scripts.map((path) => `embed/${path}`).sort()).toEqual(named.sort());
    let sum = 0;
    for (const { path, bytes, encoding } of loaded) {
      expect(await encoding, path).toBe("br");
      expect(await bytes, path).toBeGreaterThan(0);
      sum += await bytes;
    }
    console.log(`${language.padEnd(8)} ${(sum / 1000).toFixed(1).padStart(6)} kB, ${loaded.length} files, ${ms} ms`);
    const most = language === "python" || language === "java" ? MOST[language] : MOST.others;
    expect(sum).toBeLessThanOrEqual(most * 1000);
    await context.close();
  });
}

for (const [width, height] of [[1000, 600], [360, 640]] as const) {
  test(`nothing moves, ${width} pixels wide`, async ({ page, service }) => {
    await page.setViewportSize({ width, height });
    const shifts = await watchShifts(page);
    for (const language of languages) {
      await page.goto(`${service.url}/embed?lang=${language}`);
      await page.waitForSelector(".cm-content");
      expect(await shifts(), `${language}: loading`).toEqual([]);
      // Whoever presses Run sees the results get their room, at once; what comes then moves nothing.
      let begin = () => {};
      const begun = new Promise<void>((resolve) => (begin = resolve));
      await page.route("**/api/compile", async (route) => {
        await begun;
        await route.continue();
      });
      await page.locator("#run").click();
      const opening = (await shifts()).length;
      begin();
      expect(await ended(page.mainFrame())).toContain("Finished");
      expect((await shifts()).slice(opening), `${language}: running`).toEqual([]);
      await page.unroute("**/api/compile");
    }
  });
}

test("moves are noticed", async ({ page, service }) => {
  const shifts = await watchShifts(page);
  await page.goto(`${service.url}/embed?lang=python`);
  await page.waitForSelector(".cm-content");
  await page.evaluate(() => document.querySelector(".bar")?.before("This pushes the page down."));
  expect(await shifts()).not.toEqual([]);
});
