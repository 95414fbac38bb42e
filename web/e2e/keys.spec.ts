// Keys that are held, that belong to an input method, or that would choose at once.

import { editorIn, ended, expect, test } from "./service";

test("Ctrl+Enter is one run, however long it is held", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python`);
  await page.locator("#menu-button[aria-controls]").waitFor();
  const runs: string[] = [];
  page.on("request", (request) => request.url().endsWith("/api/compile") && runs.push(request.url()));
  for (const place of [".cm-content", "#results"]) {
    await page.locator(place).focus();
    await page.keyboard.down("Control");
    for (let repeat = 0; repeat < 5; repeat++) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await page.keyboard.up("Control");
    expect(await ended(page.mainFrame())).toMatch(/^Finished/);
  }
  expect(runs).toHaveLength(2);
});

test("a file's name takes no key of an input method, and ends if the files are replaced", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python`);
  await page.locator("#add-file").click();
  const field = page.locator(".tab-name");
  await field.fill("ni");
  for (const key of ["Enter", "Escape"]) {
    await field.dispatchEvent("keydown", { key, isComposing: true, bubbles: true });
    await expect(field).toHaveValue("ni");
  }
  // The keys of the page work there, on a keyboard of another script too.
  await field.dispatchEvent("keydown", { key: "ы", code: "KeyS", ctrlKey: true });
  await expect(page.locator(".notice")).toContainText("Saved in this browser");
  await expect(field).toHaveValue("ni");
  const link = { files: [{ path: "ni", content: "print(1)\n" }] };
  await page.evaluate((hash) => (location.hash = hash), `#json=${encodeURIComponent(JSON.stringify(link))}`);
  await expect(page.locator('#tabs [data-path="ni"]')).toBeVisible();
  await expect(field).toHaveCount(0);
});

test("arrows open the list of languages, and leave the page as it is", async ({ page, service }) => {
  await page.goto(`${service.url}/editor?lang=python&languages=python,java,c`);
  // The last part that is loaded.
  await page.locator("#menu-button[aria-controls]").waitFor();
  const list = page.locator("#language");
  await list.focus();
  await page.evaluate(() => {
    const opened: string[] = [];
    Object.assign(window, { opened });
    HTMLSelectElement.prototype.showPicker = function () {
      opened.push(this.id);
    };
  });
  for (const key of ["ArrowDown", "ArrowUp", "End"]) await page.keyboard.press(key);
  await expect(list).toHaveValue("python");
  expect(await page.evaluate("opened")).toEqual(["language", "language", "language"]);
});

test("in a frame of another site arrows choose a language, and Enter opens it", async ({ page, service }) => {
  const url = `${service.url}/editor?lang=python&languages=python,java,c`;
  await page.goto(service.hostPage(`<iframe title="Editor" src="${url}" width="800" height="500"></iframe>`));
  const frame = await editorIn(page);
  await frame.locator("#menu-button[aria-controls]").waitFor();
  const list = frame.locator("#language");
  await list.focus();
  const opened: string[] = [];
  page.on("request", (request) => request.isNavigationRequest() && opened.push(request.url()));
  for (const value of ["java", "c"]) {
    await page.keyboard.press("ArrowDown");
    await expect(list).toHaveValue(value);
  }
  await page.keyboard.press("Enter");
  await frame.waitForURL(/lang=c&/);
  expect(opened).toEqual([expect.stringContaining("lang=c&")]);
});
