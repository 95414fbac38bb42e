// The address that Run calls, and what the page knows of the run meanwhile.

import { withFiles } from "./documents";
import { expect, stopClock, test } from "./service";

const SLEEP = "import time\nprint('before', flush=True)\ntime.sleep(90)";

test("with api=run the page says whether a program waits or runs", async ({ page, service }) => {
  await page.clock.install();
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/api/run", async (route) => {
    await released;
    await route.continue();
  });
  await page.goto(`${service.url}/embed?${withFiles("lang=python&api=run", { "main.py": SLEEP })}`);
  await page.locator("#menu-button[aria-controls]").waitFor();
  await stopClock(page);
  const status = page.locator("#status");
  await page.locator("#run").click();
  await expect(page.locator("#run-label")).toHaveText("Stop");
  await page.clock.runFor(3000);
  await expect(status).toHaveText("In the queue… 3 s");
  release();
  await expect(status).toHaveText("Running…");
  await page.clock.runFor(2000);
  await expect(status).toHaveText("Running… 2 s");
  // The page cannot know when the program has printed: whoever stops too early tries again, and waits longer.
  let waitMs = 0;
  await expect(async () => {
    if ((await page.locator("#run-label").textContent()) === "Run") await page.locator("#run").click();
    await expect(status).toHaveText(/^Running…/);
    await new Promise((resolve) => setTimeout(resolve, (waitMs += 250)));
    await page.locator("#run").click();
    await expect(status).toHaveText("Stopped.");
    expect(await page.locator("#streams").textContent()).toContain("before");
  }).toPass();
});

test("each query calls one address alone", async ({ page, service }) => {
  const asked: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") asked.push(new URL(request.url()).pathname);
  });
  for (const [query, address] of [
    ["", "/api/compile"],
    ["&api=run", "/api/run"],
    ["&artifacts=1", "/api/run"],
    ["&warnings=1", "/api/run"],
  ] as const) {
    await page.goto(`${service.url}/embed?${withFiles(`lang=python${query}`, { "main.py": "print(6 * 7)" })}`);
    await page.locator("#run").click();
    await expect(page.locator(".stdout pre")).toHaveText("42\n");
    expect(asked.splice(0), query).toEqual([address]);
  }
});
