// When the service is busy, stops answering, or something in between answers
// in its place: what the person reads, and that nothing typed is lost.

import type { ServerResponse } from "node:http";

import type { Frame, Page } from "@playwright/test";

import { editorIn, ended, expect, stopClock, test } from "./service";

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

/** The seconds that a waiting person reads. */
const left = async (page: Page) => Number(/ in (\d+) s$/.exec((await page.locator("#status").textContent()) ?? "")?.[1]);

test("who comes too often is told when it is their turn, and is sent again then, not before", async ({
  page,
  serve,
  service,
}) => {
  const { url } = await serve(PYTHON, "--compile-rate-limit=1");
  // One is in the only place, another was told of the next: the page's turn is the one after.
  expect([await post(url, "print(1)"), await post(url, "print(1)")]).toEqual([200, 429]);
  await paused(page, url, 'print("mine")');
  const answer = page.waitForResponse("**/api/compile");
  await page.locator("#run").click();
  const { "sandpiper-turn": told, "retry-after": everyone } = await (await answer).allHeaders();
  const turn = Number(told);
  expect(turn).toBeGreaterThan(Number(everyone));
  await expect(page.locator("#status")).toHaveText(/^Too many runs from your network\. Yours starts in \d+ s$/);
  await expect(page.locator("#run-label")).toHaveText("Cancel");
  // Pages that are told the same second spread over two.
  const first = await left(page);
  expect(first).toBeGreaterThanOrEqual(turn);
  expect(first).toBeLessThanOrEqual(turn + 2);
  await page.clock.runFor(10_000);
  expect(await left(page)).toBe(first - 10);
  await page.clock.runFor((turn - 10) * 1000 - 1);
  await expect(page.locator("#run-label")).toHaveText("Cancel");
  // A minute has not passed for the service: one without a limit answers in its place.
  await page.route("**/api/compile", async (route) =>
    route.fulfill({ response: await route.fetch({ url: `${service.url}/api/compile` }) }),
  );
  await page.clock.runFor(2001);
  await expect(page.locator(".stdout pre")).toHaveText("mine\n");
  await expect(page.locator("#run-label")).toHaveText("Run");
});

const WAITS: readonly (readonly [name: string, status: number, error: string, seconds: number, words: RegExp])[] = [
  ["a full queue", 503, "too many runs are waiting already", 7, /^The service is busy\. Yours is sent again in \d+ s$/],
  [
    "a language that is being prepared", 503, "Python is being prepared: 2 of 3", 10,
    /^Python is being prepared: 2 of 3\. Yours is sent again in \d+ s$/,
  ],
  ["a proxy's limit", 429, "slow down", 30, /^Too many runs from your network\. Yours starts in \d+ s$/],
];

test("who must wait reads why and for how long, can give up, and is sent again after it", async ({ page, service }) => {
  await paused(page, service.url, 'print("in the end")');
  const run = page.locator("#run");
  const label = page.locator("#run-label");
  for (const [name, status, error, seconds, words] of WAITS) {
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
      // What was given up was not sent again.
      expect(asked).toBe(2);
      await page.clock.runFor(seconds * 1000 - 1);
      await expect(label).toHaveText("Cancel");
      await page.unroute("**/api/compile");
      // At most twice as long: pages that are told the same second spread.
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
const json = (status: number, body: string, headers: Record<string, string> = {}) => (response: ServerResponse) => {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(body);
};
const cut = (headers: Record<string, string>) => (response: ServerResponse) => {
  response.writeHead(200, { "Content-Type": "application/json", ...headers });
  response.write('{"stdout":"half of', () => response.destroy());
};

const SHAPES: readonly (readonly [string, (response: ServerResponse) => void, RegExp])[] = [
  ["a bad request", json(400, '{"error":"entryFile must be a string"}'), /^Not run: entryFile must be a string\.$/],
  ["a failure of the service", json(500, '{"error":"internal error"}'), /the service failed \(500\)\. Your code is still here/],
  ["a failure with no body", (response) => response.writeHead(500).end(), /answered 500\. Your code is still here/],
  ["a proxy's 404", html(404), /nothing runs code at this address \(404\)/],
  ["a proxy's 403", html(403), /your network does not let code through to the service \(403\)/],
  ["a proxy's 413", html(413), /^Not run: the files are too large\.$/],
  ["a proxy's 502", html(502), /the service did not answer \(502\)\. Your code is still here/],
  ["a proxy's 503", html(503), /^Not run: the service is busy\. Try again in a moment\.$/],
  ["a proxy's 504", html(504), /the service did not answer \(504\)/],
  ["a language that cannot run", json(503, '{"error":"Python cannot run here: no image"}'), /Python cannot run here: no image\./],
  ["a page to log in", html(200), /Does your network want you to log in\?/],
  ["JSON of another kind", json(200, "[]"), /^The connection was lost\. Your code is still here/],
  ["an answer cut off", cut({ "Content-Length": "1000" }), /^The connection was lost\. Your code is still here/],
  ["an answer in chunks cut off", cut({}), /^The connection was lost\. Your code is still here/],
  ["an answer that ends too soon", json(200, '{"stdout":"half of'), /^The connection was lost\. Your code is still here/],
  ["a connection that is closed", (response) => response.destroy(), /^The connection was lost\. Your code is still here/],
];

test("whatever comes back, it is told in plain words, and the code stays", async ({ page, service, reverseProxy: proxy }) => {
  proxy.passTo(service.url);
  await page.goto(`${proxy.url}/embed?${pythonOf('print("kept")')}`);
  const run = page.locator("#run");
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
      proxy.answerWith(null);
      await run.click();
      await expect(page.locator(".stdout pre")).toHaveText("kept\n");
      await expect(page.locator("#alert")).toHaveText("");
    });
  }
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
  for (const [name, leave] of ways) {
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
  // What comes after the editor is there, too: else that is what is missing.
  await expect(page.locator(".output-bar")).toBeAttached();
  await context.setOffline(true);
  await page.locator("#run").click();
  await expect(page.locator("#alert")).toHaveText(/^You are offline\. Your code is still here/);
  await context.setOffline(false);
  await page.locator("#run").click();
  expect(await ended(page.mainFrame())).toContain("Finished");
});
