// The parts of the page in the frames that pages give it: nothing lies over
// another, what a run made is in view, and what is hidden leaves no hole.

import type { Page } from "@playwright/test";

import { answer, lines, shown, submit, withFiles } from "./documents";
import { FULL, ended, expect, test } from "./service";
import { replaceCode } from "./typing";

const FRAMES = [
  { width: 320, height: 568 },
  { width: 400, height: 700 },
  { width: 500, height: 500 },
  { width: 600, height: 400 },
  { width: 800, height: 400 },
  { width: 800, height: 500 },
  { width: 1000, height: 600 },
] as const;
const nameOf = ({ width, height }: (typeof FRAMES)[number]) => `${width} x ${height}`;

/** Whether the first line of an element is seen: in the window, with nothing over it. */
const isSeen = (page: Page, selector: string) =>
  page.locator(selector).first().evaluate((element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const { left, top, height } = range.getClientRects()[0] ?? element.getBoundingClientRect();
    const hit = document.elementFromPoint(left + 4, top + Math.min(height / 2, 10));
    return hit !== null && element.contains(hit);
  });

const WRONG: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  react: { "App.jsx": "export default function App() { return <p>Hi</div>; }\n" },
  vue: { "App.vue": "<script setup>\nconst a = ;\n</script>\n<template><p>Hi</p></template>\n" },
  web: { "index.html": '<!doctype html>\n<script src="missing.js"></script>\n' },
};

for (const [language, wrong] of Object.entries(WRONG)) {
  const tag = language === "vue" ? "@full" : [];
  test(`${language}: errors of the compiler stand in the place of the page`, { tag }, async ({ page, service }) => {
    await page.goto(`${service.url}/embed?lang=${language}&run=load`);
    await expect(shown(page.mainFrame()).locator("h1")).toBeVisible();
    await submit(page, language, wrong);
    await page.locator("#run").click();
    await expect(page.locator(".stderr")).toBeVisible();
    for (const size of FRAMES) {
      await page.setViewportSize(size);
      for (const part of [".preview", ".console"]) await expect(page.locator(part), nameOf(size)).toBeHidden();
      for (const part of [".stderr h2", ".stderr pre"]) expect(await isSeen(page, part), `${part}, ${nameOf(size)}`).toBe(true);
    }
    await page.unroute("**/api/compile");
    await page.locator("#run").click();
    await expect(shown(page.mainFrame()).locator("h1")).toBeVisible();
    await expect(page.locator(".stderr")).toHaveCount(0);
  });
}

test("a console of many lines leaves the page its height, and shows the newest", async ({ page, service }) => {
  const saying = (count: number) =>
    `<!doctype html><button onclick="console.log('one more')">Say</button><script>for (let i = 0; i < ${count}; i++) console.log("line", i)</script>`;
  await page.goto(`${service.url}/embed?${withFiles("lang=web", { "index.html": "" })}`);
  await page.locator(".cm-content").waitFor();
  const stage = async () => (await page.locator(".preview-stage").boundingBox())?.height ?? 0;
  const said = page.locator(".console-log");
  const isAtEnd = () => said.evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight < 2);
  const editor = page.mainFrame();
  for (const size of FRAMES) {
    await page.setViewportSize(size);
    const heights: number[] = [];
    for (const count of [1, 20]) {
      await answer(page, saying(count));
      await page.locator("#run").click();
      await expect(lines(editor)).toHaveCount(count);
      heights.push(await stage());
    }
    expect(heights[1], nameOf(size)).toBe(heights[0]);
    expect(heights[1], nameOf(size)).toBeGreaterThanOrEqual(100);
    // Of higher frames all is in view.
    const log = await said.boundingBox();
    if (size.height >= 500) expect((log?.y ?? 0) + (log?.height ?? 0), nameOf(size)).toBeLessThanOrEqual(size.height);
    await expect.poll(isAtEnd, { message: nameOf(size) }).toBe(true);
  }
  // A person who reads an older line goes on reading it.
  await said.evaluate((log) => (log.scrollTop = 0));
  await shown(editor).locator("button").click();
  await expect(lines(editor)).toHaveCount(21);
  expect(await said.evaluate((log) => log.scrollTop)).toBe(0);
});

for (const layout of ["auto", "rows", "cols"]) {
  // The layout that is chosen by the width has parts beside each other, too; phone.spec.ts has them in narrow frames.
  const tag = layout === "cols" ? "@full" : [];
  test(`without the toolbar, layout=${layout}: the result is in view, and a mouse can run`, { tag }, async ({
    page, service,
  }) => {
    for (const [language, result] of [["python", ".stdout pre"], ["web", ".preview iframe"]] as const) {
      // A preview has the place of other results.
      if (language === "web" && layout !== "auto" && !FULL) continue;
      await page.goto(`${service.url}/embed?lang=${language}&hide=toolbar&layout=${layout}&run=load`);
      expect(await ended(page.mainFrame())).toContain("Finished");
      for (const size of [{ width: 500, height: 500 }, { width: 800, height: 400 }] as const) {
        const where = `${language}, ${nameOf(size)}`;
        await page.setViewportSize(size);
        expect(await page.evaluate(() => document.documentElement.scrollHeight), where).toBe(size.height);
        for (const part of ["#status", result]) {
          const box = await page.locator(part).boundingBox();
          expect(box?.y, `${part}, ${where}`).toBeLessThan(size.height - 40);
        }
        const code = await page.locator("#left").boundingBox();
        const run = await page.locator("#run").boundingBox();
        expect((run?.x ?? 0) + (run?.width ?? 0), where).toBeLessThan((code?.x ?? 0) + (code?.width ?? 0));
        expect(run?.y, where).toBeLessThan(20);
        const isStacked = layout === "rows" || (layout === "auto" && size.width <= 640);
        await expect(page.locator("#results"), where).toHaveCSS("border-width", isStacked ? "1px 0px 0px" : "0px 0px 0px 1px");
      }
      await replaceCode(page.locator(".cm-content"), "");
      await page.locator("#run").click();
      await expect(page.locator(language === "python" ? ".quiet" : ".preview iframe")).toBeVisible();
    }
  });
}

test("without the output there is no empty column", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python&hide=output&run=load`);
  expect(await ended(page.mainFrame())).toContain("Finished");
  for (const size of [{ width: 500, height: 500 }, { width: 800, height: 400 }] as const) {
    await page.setViewportSize(size);
    expect((await page.locator("#left").boundingBox())?.width).toBe(size.width);
    expect((await page.locator("#left").boundingBox())?.height).toBeGreaterThan(size.height / 2);
    expect(await isSeen(page, "#status"), nameOf(size)).toBe(true);
    await expect(page.locator(".output-tools")).toBeHidden();
    await expect(page.locator(".stdout")).toBeHidden();
  }
  // A document is not such output; the reason why it is not shown is.
  await page.goto(`${service.url}/embed?lang=react&hide=output&run=load`);
  await expect(shown(page.mainFrame()).locator("h1")).toBeVisible();
  await submit(page, "react", WRONG["react"] ?? {});
  await page.locator("#run").click();
  await expect(page.locator(".stderr")).toBeVisible();
});

test("the status of a lesson is not cut, however narrow its bar", async ({ page, service }) => {
  await page.setViewportSize({ width: 800, height: 500 });
  const lesson = { files: [{ content: "print(1)\n" }], expected: "1\n" };
  await page.goto(`${service.url}/embed?lang=python&run=load#json=${encodeURIComponent(JSON.stringify(lesson))}`);
  expect(await ended(page.mainFrame())).toContain("Matches");
  const cut = await page.locator("#status").evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight);
  expect(cut).toBeLessThanOrEqual(1);
});

test("a narrow column does not break the words of the status", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python&layout=cols&run=load`);
  expect(await ended(page.mainFrame())).toContain("Finished");
  for (const size of FRAMES) {
    await page.setViewportSize(size);
    const broken = () =>
      page.locator("#status").evaluate(({ firstChild: text }) =>
        [...(text?.textContent ?? "").matchAll(/\S+/g)].flatMap(({ 0: word, index }) => {
          const range = document.createRange();
          range.setStart(text as Text, index);
          range.setEnd(text as Text, index + word.length);
          return range.getClientRects().length === 1 ? [] : [word];
        }),
      );
    await expect.poll(broken, { message: nameOf(size) }).toEqual([]);
    expect(await isSeen(page, "#status"), nameOf(size)).toBe(true);
  }
});

test("a frame that gets narrower keeps the tab of the file in view", async ({ page, service }) => {
  await page.setViewportSize({ width: 1000, height: 600 });
  await page.goto(`${service.url}/embed?lang=c`);
  await page.locator(".cm-content").waitFor();
  await page.setViewportSize({ width: 320, height: 568 });
  const end = (selector: string) => page.locator(selector).evaluate((element) => element.getBoundingClientRect().right);
  await expect.poll(async () => (await end("[aria-selected=true]")) - (await end("#tabs"))).toBeLessThanOrEqual(1);
});

test("brackets that belong together are outlined only where a person types", async ({ page, service }) => {
  // The cursor is at the first one. Tags that belong together are known only when all is parsed, which may be later.
  await page.goto(`${service.url}/embed?${withFiles("lang=python", { "main.py": "(1)\n" })}`);
  const bracket = page.locator(".cm-matchingBracket").first();
  await expect(bracket).toHaveCSS("outline-style", "none");
  await page.locator(".cm-content").focus();
  await expect(bracket).toHaveCSS("outline-style", "solid");
});
