// The editor page as a whole: requests from elsewhere, input that is missing,
// code that is locked, files with a history, and the key that saves.

import { expect, stopClock, test } from "./service";
import { replaceCode } from "./typing";

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

test("a program that wants input says so, and no longer when it has some or wants none", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python`);
  const code = page.locator(".cm-content");
  const hint = page.locator("#input-hint");
  const run = async (text: string, words: RegExp) => {
    await replaceCode(code, text);
    await page.locator("#run").click();
    await expect(page.locator("#status")).toHaveText(words);
  };
  await run("print(input())", /exit code 1/);
  await expect(hint).toHaveText(/^The program asked for input, but there was none\./);
  await page.locator("#stdin").fill("some");
  await expect(hint).toHaveText("");
  await page.locator("#stdin").fill("");
  await run("print(input())", /exit code 1/);
  await expect(hint).not.toHaveText("");
  await run("print(6 * 7)", /Finished in/);
  await expect(hint).toHaveText("");
});

// tests/words.test.ts has when input may have ended, the test above that it is said.
test("after too much output, a program that reads is said to be perhaps at the end of its input", { tag: "@full" }, async ({
  page, service,
}) => {
  await page.goto(`${service.url}/embed?lang=c`);
  const hint = page.locator("#input-hint");
  const loop = async (body: string) => {
    await replaceCode(page.locator(".cm-content"), `#include <stdio.h>\nint main(void) { for (int n = 0;;) { ${body} } }\n`);
    await page.locator("#run").click();
    await expect(page.locator("#status")).toHaveText(/^Too much output/);
  };
  await loop('printf("%d\\n", n);');
  await expect(hint).toHaveText("");
  await loop('printf("Number? "); scanf("%d", &n);');
  await expect(hint).toHaveText(/^The program printed without end: perhaps it kept asking after its input had ended\./);
  await expect(hint).toBeVisible();
});

test("read-only code says so, without hints about keys", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python&readonly=1`);
  const sign = page.locator("#keys");
  await expect(sign).toHaveText("Read-only: you cannot change the code.");
  await expect(sign).toBeVisible();
  const code = page.locator(".cm-content");
  await code.click();
  await expect(code).toHaveAccessibleDescription("Read-only: you cannot change the code.");
  await page.keyboard.type("x");
  await expect(code).not.toContainText("x#");
  // Nothing there takes Tab.
  await page.keyboard.press("Tab");
  await expect(page.locator("#input-toggle")).toBeFocused();
  await page.goto(`${service.url}/embed?lang=python`);
  await code.waitFor();
  await expect(sign).toBeHidden();
  await code.click();
  await expect(sign).toHaveText(/^Tab indents/);
  await expect(sign).toBeHidden();
  await page.keyboard.press("Tab");
  await expect(sign).toBeVisible();
});

test("a file keeps its own history when it is renamed, or another with its text is deleted", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python`);
  const [code, lines] = [page.locator(".cm-content"), page.locator(".cm-line")];
  const add = async (path: string) => {
    await page.locator("#add-file").click();
    await page.keyboard.type(path);
    await page.keyboard.press("Enter");
    await code.focus();
  };
  await add("one.py");
  await page.keyboard.type("x");
  await page.keyboard.press("Enter");
  await add("two.py");
  await page.keyboard.insertText("x\n");
  await expect(lines).toHaveText(["x", ""]);
  await page.getByRole("tab", { name: "two.py" }).press("Delete");
  await expect(page.getByRole("tab", { selected: true })).toHaveText("one.py");
  await code.focus();
  await page.keyboard.press("Control+Z");
  await expect(lines).toHaveText(["x"]);
  await page.getByRole("tab", { name: "one.py" }).press("F2");
  await page.keyboard.type("3.py");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("tab", { selected: true })).toHaveText("3.py");
  await code.focus();
  await page.keyboard.press("Control+Y");
  await expect(lines).toHaveText(["x", ""]);
});

test("a notice goes away by itself, but not while the person is at it, nor with an action", async ({ page, service }) => {
  await page.clock.install();
  await page.goto(`${service.url}/embed?lang=python`);
  await page.locator("#menu-button[aria-controls]").waitFor();
  await stopClock(page);
  const notice = page.locator(".notice");
  await page.keyboard.press("Control+S");
  await expect(notice).toContainText("Saved in this browser");
  await notice.hover();
  await page.clock.runFor(60_000);
  await expect(notice).toContainText("Saved in this browser");
  await page.locator("#run").hover();
  await page.clock.runFor(60_000);
  await expect(notice).not.toContainText("Saved");
  await page.getByRole("tab", { name: "words.py" }).focus();
  await page.keyboard.press("Delete");
  await page.clock.runFor(60_000);
  await expect(notice).toContainText("words.py was deleted.");
});

for (const [autosave, words] of [
  ["page", "Saved in this browser, as every edit is."],
  ["off", "This browser saves nothing: copy the code that you need."],
] as const) {
  test(`Ctrl+S, autosave=${autosave}: no dialog of the browser, but a sentence about the edits`, async ({ page, service }) => {
    // Nothing is kept by time.
    await page.clock.install();
    await page.goto(`${service.url}/embed?lang=python&autosave=${autosave}`);
    await page.locator("#menu-button[aria-controls]").waitFor();
    await page.evaluate(() => addEventListener("keydown", (event) => Object.assign(window, { taken: event.defaultPrevented })));
    await stopClock(page);
    await replaceCode(page.locator(".cm-content"), "print('mine')");
    await page.keyboard.press("Control+S");
    await expect(page.locator(".notice")).toContainText(words);
    expect(await page.evaluate("window.taken")).toBe(true);
    const kept = await page.evaluate(() => Object.values(localStorage).some((text) => String(text).includes("mine")));
    expect(kept).toBe(autosave === "page");
  });
}

test("input with the line ends of Windows leaves its box as the reader has it", async ({ page, service }) => {
  const program = { files: [{ path: "main.py", content: "print(1)\n" }], stdin: "1\r\n2\r\n" };
  await page.goto(`${service.url}/embed?lang=python#json=${encodeURIComponent(JSON.stringify(program))}`);
  const field = page.locator("#stdin");
  await expect(field).toHaveValue("1\n2\n");
  await page.locator("#input-toggle").click();
  await expect(field).toBeHidden();
  await page.locator(".cm-content").focus();
  await page.keyboard.type("x");
  await expect(page.locator(".cm-content")).toContainText("x");
  await expect(field).toBeHidden();
});
