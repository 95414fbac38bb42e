// Nothing moves: the code stands where the server has put it when the editor
// takes its place, and a run makes room where there was none asked for.

import type { Page } from "@playwright/test";

import { drawn, editorIn, expect, heldRuns, test } from "./service";
import { replaceCode } from "./typing";

/** Where the first lines of code begin, in their own box: without a script there is a notice above it. */
async function lines(page: Page, selector: string) {
  await page.locator(selector).first().waitFor();
  return page.evaluate((selector) => {
    const code = document.querySelector(selector);
    const box = document.getElementById("code")?.getBoundingClientRect();
    if (code === null || box === undefined) return [];
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    const rows = new Map<number, number>();
    for (let node = walker.nextNode(); node !== null && rows.size < 9; node = walker.nextNode()) {
      for (const match of (node.textContent ?? "").matchAll(/\S/g)) {
        const range = document.createRange();
        range.setStart(node, match.index);
        range.setEnd(node, match.index + 1);
        const { x, y } = range.getBoundingClientRect();
        const [column, row] = [Math.round(x - box.x), Math.round(y - box.y)];
        rows.set(row, Math.min(column, rows.get(row) ?? Infinity));
      }
    }
    return [...rows].slice(0, 8);
  }, selector);
}

for (const width of [320, 1000]) {
  for (const language of ["python", "web"]) {
    const tag = (language === "web") === (width === 320) ? [] : "@full";
    test(`${language}, ${width} px: the editor shows the code where it was`, { tag }, async ({ browser, service, page }) => {
      const url = `${service.url}/embed?lang=${language}`;
      const viewport = { width, height: 500 };
      const context = await browser.newContext({ javaScriptEnabled: false, viewport });
      const plain = await context.newPage();
      await plain.goto(url);
      const before = await lines(plain, "#code pre");
      await context.close();
      await page.setViewportSize(viewport);
      await page.goto(url);
      expect(before.length).toBe(8);
      expect(await lines(page, ".cm-content")).toEqual(before);
    });
  }
}

for (const language of ["python", "react"]) {
  test(`${language}: before the first run the code has the space, then both`, async ({ page, service }) => {
    await page.setViewportSize({ width: 360, height: 640 });
    await page.goto(`${service.url}/embed?lang=${language}`);
    await page.locator(".cm-content").waitFor();
    const share = async (part: string) => ((await page.locator(part).boundingBox())?.height ?? 0) / 640;
    const invitation = page.locator(".invitation");
    await expect(invitation).toBeInViewport();
    expect(await share("#code")).toBeGreaterThan(0.6);
    await page.locator("#run").click();
    await expect(page.locator("#status")).toContainText("Finished");
    await expect(invitation).toHaveCount(0);
    expect(await share(".right")).toBeGreaterThan(0.36);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBe(0);
  });
}

/** A page that keeps the heights that its frame asks for, and shows it in this size. */
const asking = (url: string, query: string, code: string, width: number) => {
  const json = encodeURIComponent(JSON.stringify({ files: [{ content: code }] }));
  return `<script>
    const heights = [];
    addEventListener("message", ({ data }) => data.type === "resize" && heights.push(data.payload.height));
    </script><iframe src="${url}/embed?${query}#json=${json}" width="${width}" height="300"></iframe>`;
};

test("a frame that is unfolded asks for the height that it needs when it is open", async ({ page, service }) => {
  await page.goto(service.hostPage(asking(service.url, "lang=python&hide=stdin", "print(1)\n", 0)));
  const frame = page.frames()[1];
  if (frame === undefined) throw new Error("there is no frame");
  await frame.waitForSelector(".cm-content", { state: "attached" });
  // Every measurement until now has been reported.
  await drawn(frame);
  await page.locator("iframe").evaluate((element) => element.setAttribute("width", "720"));
  await expect.poll(() => page.evaluate("heights")).toEqual([300]);
});

test("between a run and the one before, a frame does not ask for less", async ({ page, service }) => {
  await page.goto(service.hostPage(asking(service.url, "lang=python", 'print("line\\n" * 30)', 720)));
  const frame = await editorIn(page);
  const latest = () => page.evaluate("heights.at(-1)");
  await expect.poll(latest).toBe(300);
  await frame.locator("#run").click();
  await expect.poll(latest).toBeGreaterThan(600);
  const high = await latest();
  await replaceCode(frame.locator(".cm-content"), "print(6 * 7)");
  const release = await heldRuns(page);
  await frame.locator("#run").click();
  await expect(frame.locator(".stdout")).toHaveCount(0);
  // Every measurement until now has been reported.
  await drawn(frame);
  release();
  await expect(frame.locator(".stdout pre")).toHaveText("42\n");
  await expect.poll(latest).toBeLessThan(400);
  const low = await latest();
  expect(await page.evaluate("heights")).toEqual([300, high, low]);
});
