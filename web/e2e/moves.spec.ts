// Nothing on the page moves while it comes, nor while a program runs.

import type { Page } from "@playwright/test";

import { whole } from "./chromium";
import { expect, heldRuns, languages, test } from "./service";

// The other one has a mouse on the page, for which places are found, and counted, that are never drawn.
test.use({ launchOptions: whole });
// In turn: each worker would start this browser, and then the usual one again.
test.describe.configure({ mode: "default" });

/** Adds up all that moves without the person having done anything. */
async function watchShifts(page: Page): Promise<() => Promise<string[]>> {
  await page.addInitScript(() => {
    type Source = { node: Node | null; previousRect: DOMRect; currentRect: DOMRect };
    const shifts: string[] = [];
    Object.assign(window, { shifts });
    const observer = new PerformanceObserver((list) => take(list.getEntries()));
    Object.assign(window, { noteShifts: () => take(observer.takeRecords()) });
    const take = (entries: PerformanceEntryList) => {
      for (const entry of entries) {
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
    };
    observer.observe({ type: "layout-shift", buffered: true });
  });
  return () =>
    page.evaluate(async () => {
      // Changes are drawn, and shifts are noted.
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const { shifts, noteShifts } = window as unknown as { shifts: string[]; noteShifts: () => void };
      noteShifts();
      return shifts;
    });
}

/** Words of other lengths, and the other direction. */
const OTHERS: readonly string[] = ["python&ui=de", "python&ui=fr", "web&ui=de", "python&ui=ar"];

/** Each kind once, and all words. */
const ALWAYS: readonly string[] = ["mysql", "web&ui=de", "python&ui=ar"];

for (const language of [...languages, ...OTHERS]) {
  test(`${language}: nothing moves`, { tag: ALWAYS.includes(language) ? [] : "@full" }, async ({ page, service }) => {
    const shifts = await watchShifts(page);
    for (const [width, height] of [[1000, 600], [360, 640]] as const) {
      await page.setViewportSize({ width, height });
      await page.goto(`${service.url}/embed?lang=${language}`);
      await page.waitForSelector(".cm-content");
      // The last part that is loaded after the editor.
      await page.locator("#menu-button[aria-controls]").waitFor();
      expect(await shifts(), `${width} pixels: loading`).toEqual([]);
      // After a press of Run the results get their space at once; the output moves nothing.
      const begin = await heldRuns(page);
      await page.locator("#run").click();
      const opening = (await shifts()).length;
      // The words of a run that takes longer are longer.
      await expect(page.locator("#status")).toHaveText(/\d/);
      begin();
      await expect(page.locator("#outcome")).toHaveAttribute("data-state", "ok");
      expect((await shifts()).slice(opening), `${width} pixels: running`).toEqual([]);
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
