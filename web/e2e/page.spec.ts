// The editor page as a whole: requests from elsewhere, no scripts, keys, Stop.

import { expect, test } from "./service";

test("another origin may post and read how a run ended", async ({ page, service }) => {
  await page.goto(service.hostPage(""));
  const result = await page.evaluate(async (url) => {
    const response = await fetch(`${url}/api/compile`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        language: "python",
        entryFile: "m.py",
        files: [{ path: "m.py", content: "import sys; print('hi'); sys.exit(3)" }],
      }),
    });
    return { exit: response.headers.get("Sandpiper-Exit"), body: await response.json() };
  }, service.url);
  expect(result).toEqual({ exit: "stage=run; code=3", body: { stdout: "hi\n", stderr: "" } });
});

test("without JavaScript the code can be read", async ({ browser, service }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${service.url}/embed?lang=python`);
  await expect(page.locator("pre").first()).toBeVisible();
  await expect(page.locator("pre").first()).toContainText("import");
  await context.close();
});

test("the keyboard reaches everything and is not trapped", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python`);
  const code = page.locator(".cm-content");
  await code.click();
  await page.keyboard.press("Control+A");
  await page.keyboard.type("print('by key')");
  await page.keyboard.press("Control+Enter");
  await expect(page.locator(".stdout pre")).toHaveText("by key\n");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  await expect(code).not.toBeFocused();
});

test("Stop ends the wait at once", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python`);
  await page.locator(".cm-content").fill("import time\nprint('on')\ntime.sleep(60)");
  await page.locator("#run").click();
  await expect(page.locator("#run-label")).toHaveText("Stop");
  await page.locator("#run").click();
  await expect(page.locator("#status")).toHaveText("Stopped.");
});
