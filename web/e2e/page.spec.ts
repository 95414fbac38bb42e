// The editor page as a whole: requests from elsewhere, input that is missing.

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

test("a program that wants input says so, and no longer when it has some or wants none", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python`);
  const code = page.locator(".cm-content");
  const hint = page.locator("#input-hint");
  const run = async (text: string, words: RegExp) => {
    await code.fill(text);
    await page.locator("#run").click();
    await expect(page.locator("#status")).toHaveText(words);
  };
  await run("print(input())", /exit code 1/);
  await expect(hint).toHaveText(/^The program asked for input, and there was none\./);
  await page.locator("#stdin").fill("some");
  await expect(hint).toHaveText("");
  await page.locator("#stdin").fill("");
  await run("print(input())", /exit code 1/);
  await expect(hint).not.toHaveText("");
  await run("print(6 * 7)", /Finished in/);
  await expect(hint).toHaveText("");
});
