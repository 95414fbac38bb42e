// A service that is busy or stops answering, and servers in between that answer
// in its place: the words for the person, and that nothing typed is lost.

import type { ServerResponse } from "node:http";

import type { Frame, Page } from "@playwright/test";

import { FULL, editorIn, ended, expect, stopClock, test } from "./service";

const PYTHON = "--languages=python";

/** The query and fragment of an editor with this one file. */
const pythonOf = (content: string, query = "") =>
  `lang=python${query}#json=${encodeURIComponent(JSON.stringify({ files: [{ content }] }))}`;

/** Runs a program by a request of its own. */
async function post(url: string, content: string): Promise<number> {
  const body = JSON.stringify({ language: "python", entryFile: "m.py", files: [{ path: "m.py", content }] });
  const headers = { "Content-Type": "application/json" };
  return (await fetch(`${url}/api/compile`, { method: "POST", headers, body })).status;
}

/** An editor whose time stands still, all of it loaded. */
async function paused(page: Page, url: string, content: string): Promise<void> {
  await page.clock.install();
  await page.goto(`${url}/embed?${pythonOf(content)}`);
  await page.locator("#menu-button[aria-controls]").waitFor();
  await stopClock(page);
}

/** The longest jitter in seconds, as in src/run/retry.ts. */
const SPREAD = 15;

/** The seconds that a waiting person reads. */
const left = async (page: Page) => Number(/ in (\d+) s$/.exec((await page.locator("#status").textContent()) ?? "")?.[1]);

test("a page over the rate limit waits as long as it is asked to, and is sent again then, not before", async ({
  page,
  serve,
  service,
}) => {
  const { url } = await serve(PYTHON, "--compile-rate-limit=1");
  await paused(page, url, 'print("mine")');
  expect(await post(url, "print(1)")).toBe(200);
  const answer = page.waitForResponse("**/api/compile");
  await page.locator("#run").click();
  const retryAfter = Number((await (await answer).allHeaders())["retry-after"]);
  expect(retryAfter).toBeGreaterThan(0);
  await expect(page.locator("#status")).toHaveText(/^Too many runs from your network\. Yours starts in \d+ s$/);
  await expect(page.locator("#run-label")).toHaveText("Cancel");
  // Pages that are given the same time spread.
  const first = await left(page);
  expect(first).toBeGreaterThanOrEqual(retryAfter);
  expect(first).toBeLessThanOrEqual(retryAfter + SPREAD);
  await page.clock.runFor(1000);
  expect(await left(page)).toBe(first - 1);
  await page.clock.runFor((retryAfter - 1) * 1000 - 1);
  await expect(page.locator("#run-label")).toHaveText("Cancel");
  // A minute has not passed for the service: one without a limit answers in its place.
  await page.route("**/api/compile", async (route) =>
    route.fulfill({ response: await route.fetch({ url: `${service.url}/api/compile` }) }),
  );
  await page.clock.runFor(SPREAD * 1000 + 1);
  await expect(page.locator(".stdout pre")).toHaveText("mine\n");
  await expect(page.locator("#run-label")).toHaveText("Run");
});

const WAITS: readonly (readonly [name: string, status: number, error: string, seconds: number, words: RegExp])[] = [
  ["a full queue", 503, "too many runs are waiting already", 7, /^The service is busy\. Retrying in \d+ s$/],
  [
    "a language that is being prepared", 503, "Python is being prepared: 2 of 3", 10,
    /^Python is being prepared: 2 of 3\. Retrying in \d+ s$/,
  ],
  ["a proxy's limit", 429, "slow down", 30, /^Too many runs from your network\. Yours starts in \d+ s$/],
];

test("a person who must wait reads why and for how long, can cancel, and the run is sent again", async ({ page, service }) => {
  await paused(page, service.url, 'print("in the end")');
  const run = page.locator("#run");
  const label = page.locator("#run-label");
  // tests/client.test.ts and tests/words.test.ts have the others.
  for (const [name, status, error, seconds, words] of FULL ? WAITS : WAITS.slice(0, 1)) {
    await test.step(name, async () => {
      let asked = 0;
      const headers = { "Retry-After": String(seconds) };
      await page.route("**/api/compile", (route) => (asked++, route.fulfill({ status, headers, json: { error } })));
      await run.click();
      await expect(page.locator("#status")).toHaveText(words);
      await expect(label).toHaveText("Cancel");
      expect(await left(page)).toBeGreaterThanOrEqual(seconds);
      await run.click();
      await expect(page.locator("#status")).toHaveText("Stopped.");
      await expect(label).toHaveText("Run");
      await page.clock.runFor(600_000);
      await run.click();
      await expect(page.locator("#status")).toHaveText(words);
      // The canceled run was not sent again.
      expect(asked).toBe(2);
      await page.clock.runFor(seconds * 1000 - 1);
      await expect(label).toHaveText("Cancel");
      await page.unroute("**/api/compile");
      // At most twice as long: pages that are given the same time spread.
      await page.clock.runFor(seconds * 1000 + 2);
      await expect(page.locator(".stdout pre")).toHaveText("in the end\n");
      await expect(label).toHaveText("Run");
    });
  }
});

const html = (status: number, headers: Record<string, string> = {}) => (response: ServerResponse) => {
  response.writeHead(status, { "Content-Type": "text/html", ...headers });
  response.end(`<html><body><h1>${status}</h1><script>alert(1)</script></body></html>`);
};
const cut = (headers: Record<string, string>) => (response: ServerResponse) => {
  response.writeHead(200, { "Content-Type": "application/json", ...headers });
  response.write('{"stdout":"half of', () => response.destroy());
};

/** Those that depend on the browser; tests/client.test.ts has all others. */
const SHAPES: readonly (readonly [string, (response: ServerResponse) => void, RegExp])[] = [
  ["a proxy's 502", html(502), /the service did not answer \(502\)\. Your code is still here/],
  ["a page to log in", html(200), /Do you have to log in to your network\?/],
  ["an answer cut off", cut({ "Content-Length": "1000" }), /^The connection was lost\. Your code is still here/],
  ["an answer in chunks cut off", cut({}), /^The connection was lost\. Your code is still here/],
  ["a connection that is closed", (response) => response.destroy(), /^The connection was lost\. Your code is still here/],
];

test("every answer is shown in plain words, and the code stays", async ({ page, service, reverseProxy: proxy }) => {
  proxy.passTo(service.url);
  await page.goto(`${proxy.url}/embed?${pythonOf('print("kept")')}`);
  const run = page.locator("#run");
  const runWell = async () => {
    proxy.answerWith(null);
    await run.click();
    await expect(page.locator(".stdout pre")).toHaveText("kept\n");
    await expect(page.locator("#alert")).toHaveText("");
  };
  await runWell();
  for (const [name, answer, words] of SHAPES) {
    await test.step(name, async () => {
      proxy.answerWith(answer);
      await run.click();
      await expect(page.locator("#status")).toHaveText(words);
      await expect(page.locator("#alert")).toHaveText(words);
      await expect(page.locator("#alert")).toHaveAttribute("role", "alert");
      await expect(page.locator("#run-label")).toHaveText("Run");
      await expect(page.locator(".cm-content")).toHaveText('print("kept")');
      await expect(page.locator("#streams")).toBeEmpty();
    });
  }
  await runWell();
});

const SLEEP = "import time\ntime.sleep(300)";

test("Stop, and leaving the page, end the run on the server", async ({ page, hosts, serve }) => {
  const { url, boxesInUse } = await serve(PYTHON, "--run-wall-time=290s");
  const ways: [string, (editor: Frame) => Promise<unknown>][] = [
    ["Stop", (editor) => editor.locator("#run").click()],
    ["another page in the frame", (editor) => editor.goto("about:blank")],
    ["the frame removed", () => page.evaluate(() => document.querySelector("iframe")?.remove())],
    ["the page left", () => page.goto("about:blank")],
    ["the page closed", () => page.close()],
  ];
  // With its page a connection is closed, however the page goes: by default one way does so.
  for (const [name, leave] of ways.filter(([name]) => FULL || ["Stop", "the frame removed"].includes(name))) {
    await test.step(name, async () => {
      await page.goto(hosts.hostPage(`<iframe src="${url}/embed?${pythonOf(SLEEP)}" width="900" height="500"></iframe>`));
      const editor = await editorIn(page);
      await editor.locator("#run").click();
      await expect(editor.locator("#run-label")).toHaveText("Stop");
      await expect.poll(boxesInUse).toBe(1);
      await leave(editor);
      await expect.poll(boxesInUse).toBe(0);
    });
  }
});

test("files that are too large are refused, and stay", async ({ page, service }) => {
  await page.goto(service.hostPage(`<iframe src="${service.url}/embed?lang=python" width="900" height="500"></iframe>`));
  const editor = await editorIn(page);
  await page.evaluate(() => {
    // Twice as many bytes as characters.
    const content = `# ${"é".repeat(1_300_000)}\n`;
    const message = { app: "sandpiper", v: 1, id: 1, type: "setFiles", payload: { files: [{ content }] } };
    document.querySelector("iframe")?.contentWindow?.postMessage(message, "*");
  });
  await expect(editor.locator(".cm-content")).toContainText("éé");
  await editor.locator("#run").click();
  await expect(editor.locator("#alert")).toHaveText(/^Not run: .*2 MiB/);
  await expect(editor.locator("#run-label")).toHaveText("Run");
  await expect(editor.locator(".cm-content")).toContainText("éé");
});

test("a service that dies, and a network that is gone", async ({ page, context, service, serve }) => {
  const mortal = await serve(PYTHON);
  await page.goto(`${mortal.url}/embed?${pythonOf(SLEEP)}`);
  await page.locator(".cm-content").waitFor();
  await page.locator("#run").click();
  await expect.poll(mortal.boxesInUse).toBe(1);
  await mortal.stop();
  await expect(page.locator("#alert")).toHaveText(/^The connection was lost\. Your code is still here/);
  await page.locator("#run").click();
  await expect(page.locator("#alert")).toHaveText(/^The connection was lost\. Your code is still here/);
  await expect(page.locator(".cm-content")).toContainText("time.sleep(300)");

  await page.goto(`${service.url}/embed?${pythonOf("print(1)")}`);
  // The rest of the page is there, too: else the test would see that it is missing.
  await expect(page.locator(".output-bar")).toBeAttached();
  await context.setOffline(true);
  await page.locator("#run").click();
  await expect(page.locator("#alert")).toHaveText(/^You are offline\. Your code is still here/);
  await context.setOffline(false);
  await page.locator("#run").click();
  expect(await ended(page.mainFrame())).toContain("Finished");
});
