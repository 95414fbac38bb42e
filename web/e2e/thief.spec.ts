// Pages in the preview that take the keyboard from the editor.

import type { Page } from "@playwright/test";

import { apart } from "./chromium";
import { lines, shown, withFiles } from "./documents";
import { expect, stopClock, test, type Service } from "./service";

test.use({ launchOptions: apart });

const FIELD = `<!doctype html><p>page</p><input><a href="other.html">other</a><a href="index.html">again</a><script>
  const field = document.querySelector("input");
  addEventListener("keydown", ({ key }) => console.log("took", key));
  console.log("mine");`;

/** Runs the page. Anything that Playwright does in a frame counts as the person's there, so nothing is done in it. */
async function run(page: Page, service: Service, script: string, others: Readonly<Record<string, string>> = {}): Promise<void> {
  const files = { "index.html": `${FIELD}${script}</script>`, ...others };
  await page.goto(`${service.url}/embed?${withFiles("lang=web", files)}`);
  await page.locator(".cm-content").waitFor();
  await page.click("#run");
  await expect(lines(page.mainFrame()).first()).toContainText("mine");
}

const hasFocus = (page: Page, selector: string) =>
  expect.poll(() => page.evaluate((own) => document.activeElement?.matches(own), selector));

test("a page that takes the focus loses it again, and is ended at the third time", async ({ page, service }) => {
  // Each time it takes what was given back. The click below may give it back once more.
  const script = `let times = 0;
    addEventListener("blur", () => setTimeout(take, 500));
    function take() { field.focus(); console.log("time", ++times); }
    setTimeout(take, 1000);`;
  await run(page, service, script);
  await page.locator(".cm-content").click();
  await expect(page.locator(".preview-banner")).toHaveText("The page was stopped: it took the keyboard again and again.");
  await expect(page.locator(".preview iframe")).toHaveCount(0);
  await expect(lines(page.mainFrame()).filter({ hasText: "time 3" })).toHaveCount(1);
  await hasFocus(page, ".cm-content").toBe(true);
  await page.keyboard.type("abc");
  await expect(page.locator(".cm-content")).toContainText("abc");
});

test("a page that takes the focus of a person who types loses it, also soon after a click in it", async ({ page, service }) => {
  await run(page, service, "");
  const words = "The page was stopped: it took the keyboard again and again.";
  let isEnded = false;
  const end = page.locator(".preview-banner").getByText(words, { exact: true }).waitFor().then(() => (isEnded = true));
  // At the third time; more often if this is slow, as between two keys a person may go to the page.
  while (!isEnded) {
    await page.locator(".cm-content").focus();
    await page.keyboard.press("x");
    // As if the person had clicked there. The frame may be gone before: then there is nothing to wait for.
    await Promise.race([end, shown(page.mainFrame()).locator("input").focus().catch(() => {})]);
  }
});

test("a page that takes the focus has no link followed", async ({ page, service }) => {
  const script = `setTimeout(() => setInterval(() => {
    field.focus();
    for (const link of document.links) link.click();
  }, 1), 1000);`;
  const built: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/api/compile")) built.push((request.postDataJSON() as { entryFile: string }).entryFile);
  });
  const others = { "other.html": "<!doctype html><p>other</p>" };
  await run(page, service, script, others);
  await expect(page.locator(".preview-banner")).toHaveText("The page was stopped: it took the keyboard again and again.");
  expect(built).toEqual(["index.html"]);
});

test("a person goes into the page by a click, by Tab, and stays there", async ({ page, service }) => {
  await page.clock.install();
  await run(page, service, "");
  const input = shown(page.mainFrame()).locator("input");
  // A frame that answers late would be a thief. So time passes only until the editor looks who has the focus.
  await stopClock(page);
  for (let time = 0; time < 4; time++) {
    // Not by a click: nobody clicks at two places in the same moment.
    await page.locator(".cm-content").focus();
    await input.click();
    await page.clock.runFor(200);
    await hasFocus(page, ".preview iframe").toBe(true);
    await input.press("a");
  }
  await expect(input).toHaveValue("aaaa");
  for (let time = 0; time < 4; time++) {
    await page.getByRole("button", { name: "Dark background" }).focus();
    await page.keyboard.press("Tab");
    await page.clock.runFor(200);
    await hasFocus(page, ".preview iframe").toBe(true);
  }
  await expect(page.locator(".preview iframe")).toHaveCount(1);
});
