// When the service is busy, stops answering, or something in between answers
// in its place: what the person reads, and that nothing typed is lost.

import { createServer, request as ask, type ServerResponse } from "node:http";

import type { Frame, Page } from "@playwright/test";

import { editorIn, ended, expect, listening, start, test } from "./service";

const PYTHON = "--languages=python";

/** The query and fragment of an editor with this one file. */
const pythonOf = (content: string, query = "") =>
  `lang=python${query}#json=${encodeURIComponent(JSON.stringify({ files: [{ content }] }))}`;

/** So many editors on pages of their own, ten each; number n prints n. */
async function classOf(count: number, url: string, open: () => Promise<Page>, host: (html: string) => string) {
  const frames: Frame[] = [];
  for (let first = 0; first < count; first += 10) {
    const page = await open();
    const numbers = Array.from({ length: Math.min(10, count - first) }, (_, index) => first + index);
    const source = (n: number) => `${url}/embed?${pythonOf(`print("mine is", ${n})`)}`;
    await page.goto(host(numbers.map((n) => `<iframe src="${source(n)}" width="600" height="300"></iframe>`).join("")));
    for (const n of numbers) {
      const inside = await (await page.locator("iframe").nth(n - first).elementHandle())?.contentFrame();
      if (inside === null || inside === undefined) throw new Error("there is no frame");
      await inside.waitForSelector(".cm-content");
      frames.push(inside);
    }
  }
  return frames;
}

const press = (frames: readonly Frame[]) =>
  Promise.all(frames.map((frame) => frame.evaluate(() => document.getElementById("run")?.click())));

/** When the pages of a class asked, and what they were answered. */
function recorded(frames: readonly Frame[]) {
  const asked: { frame: Frame; at: number; status: number; turn: number }[] = [];
  for (const page of new Set(frames.map((frame) => frame.page()))) {
    page.on("response", (response) => {
      const request = response.request();
      if (request.method() !== "POST") return;
      const turn = Number(response.headers()["sandpiper-turn"] ?? 0);
      asked.push({ frame: request.frame(), at: request.timing().startTime, status: response.status(), turn });
    });
  }
  return asked;
}

async function allHaveTheirOwn(frames: readonly Frame[], except: Frame | null = null) {
  for (const [n, frame] of frames.entries()) {
    await expect(frame.locator(".cm-content")).toHaveText(`print("mine is", ${n})`);
    if (frame === except) continue;
    await expect(frame.locator(".stdout pre")).toHaveText(`mine is ${n}\n`);
    await expect(frame.locator("#run-label")).toHaveText("Run");
  }
}

test("a class behind one address: those who must wait are told how long, and all get their own answer", async ({
  serve,
  context,
  hosts,
}) => {
  // A minute of it is the window of the rate limit.
  test.setTimeout(300_000);
  const url = await serve(PYTHON, "--compile-rate-limit=20");
  const frames = await classOf(30, url, () => context.newPage(), (html) => hosts.hostPage(html));
  const asked = recorded(frames);
  await press(frames);
  const waiting: Frame[] = [];
  for (const frame of frames) {
    await expect(frame.locator("#status")).toHaveText(/^(Finished|Many people on your network are running code\. Yours starts in \d+ s$)/);
    if ((await frame.locator("#run-label").textContent()) === "Cancel") waiting.push(frame);
  }
  expect(waiting).toHaveLength(10);

  // One gives up; another's count goes down to its turn.
  const [given, watched] = waiting;
  if (given === undefined || watched === undefined) throw new Error("nobody waits");
  await given.locator("#run").click();
  await expect(given.locator("#status")).toHaveText("Stopped.");
  await expect(given.locator("#run-label")).toHaveText("Run");
  const counts: number[] = [];
  for (;;) {
    const words = (await watched.locator("#status").textContent()) ?? "";
    if (!words.startsWith("Many people")) break;
    counts.push(Number(/in (\d+) s/.exec(words)?.[1]));
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  expect(counts.length).toBeGreaterThan(10);
  expect(counts).toEqual([...counts].sort((one, other) => other - one));
  expect(counts.at(-1)).toBeLessThan(5);
  await allHaveTheirOwn(frames, given);

  const refused = asked.filter(({ status }) => status === 429);
  // Nobody was told a time that was not true.
  expect(refused).toHaveLength(10);
  const again = asked.filter(({ at, frame }) => refused.some((first) => first.frame === frame && first.at < at));
  expect(again.map(({ status }) => status)).toEqual(Array(9).fill(200));
  for (const { frame, at } of again) {
    const first = refused.find((other) => other.frame === frame);
    expect(at).toBeGreaterThanOrEqual((first?.at ?? 0) + (first?.turn ?? 0) * 1000);
  }
  // They came one after the other, not as one.
  const times = again.map(({ at }) => at);
  expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(300);
  await given.locator("#run").click();
  await expect(given.locator(".stdout pre")).toHaveText(/^mine is \d+\n$/);
});

test("a class whose network has a limit of its own does not wait", async ({ serve, context, hosts }) => {
  const url = await serve(PYTHON, "--compile-rate-limit=20", "--rate-limit-for=127.0.0.1=600");
  const frames = await classOf(30, url, () => context.newPage(), (html) => hosts.hostPage(html));
  const asked = recorded(frames);
  await press(frames);
  await allHaveTheirOwn(frames);
  expect(asked.map(({ status }) => status)).toEqual(Array(30).fill(200));
});

/** A proxy before the service, which answers for it where `answer` is set. */
async function proxied(url: string) {
  let answer: ((response: ServerResponse) => void) | null = null;
  const server = createServer((request, response) => {
    if (answer !== null && request.method === "POST") {
      request.resume().on("end", () => answer?.(response));
      return;
    }
    const { method, headers } = request;
    const passed = ask(`${url}${request.url}`, { method: method ?? "GET", headers }, (result) => {
      response.writeHead(result.statusCode ?? 502, result.headers);
      result.pipe(response);
    });
    request.pipe(passed);
  });
  const port = await listening(server);
  return {
    url: `http://127.0.0.1:${port}`,
    answerWith(next: typeof answer) {
      answer = next;
    },
    close: () => (server.close(), server.closeAllConnections()),
  };
}

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

test("whatever comes back, it is told in plain words, and the code stays", async ({ page, service }) => {
  const proxy = await proxied(service.url);
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
  proxy.close();
});

test("a language that is being prepared is asked for again, and says how far it is", async ({ page, service }) => {
  const proxy = await proxied(service.url);
  await page.goto(`${proxy.url}/embed?${pythonOf('print("at last")')}`);
  let count = 0;
  proxy.answerWith((response) => {
    count++;
    json(503, '{"error":"Python is being prepared: 2 of 3"}', { "Retry-After": "1" })(response);
  });
  await page.locator("#run").click();
  await expect(page.locator("#status")).toHaveText(/^Python is being prepared: 2 of 3\. Yours is sent again in \d s$/);
  await expect(page.locator("#run-label")).toHaveText("Cancel");
  await expect.poll(() => count).toBeGreaterThan(1);
  proxy.answerWith(null);
  await expect(page.locator(".stdout pre")).toHaveText("at last\n");
  proxy.close();
});

const SLEEP = "import time\nprint('on', flush=True)\ntime.sleep(300)";
const ONE_BOX = [PYTHON, "--boxes=1", "--run-wall-time=290s", "--queue=4", "--queue-wait=40s"];

/** Runs a program by a request of its own; what it takes is one box. */
async function post(url: string, content: string, signal: AbortSignal | null = null): Promise<number> {
  const body = JSON.stringify({ language: "python", entryFile: "m.py", files: [{ path: "m.py", content }] });
  const headers = { "Content-Type": "application/json" };
  return (await fetch(`${url}/api/compile`, { method: "POST", headers, body, signal })).status;
}

test("a service that is busy is asked again until it has a place", async ({ page, serve }) => {
  const url = await serve(PYTHON, "--boxes=1", "--run-wall-time=290s", "--queue=0");
  const other = new AbortController();
  const held = post(url, SLEEP, other.signal).catch(() => 0);
  await page.goto(`${url}/embed?${pythonOf('print("in the end")')}`);
  await page.locator(".cm-content").waitFor();
  await page.locator("#run").click();
  await expect(page.locator("#status")).toHaveText(/^The service is busy\. Yours is sent again in \d+ s$/);
  await page.locator("#run").click();
  await expect(page.locator("#status")).toHaveText("Stopped.");
  await page.locator("#run").click();
  await expect(page.locator("#run-label")).toHaveText("Cancel");
  other.abort();
  await held;
  await expect(page.locator(".stdout pre")).toHaveText("in the end\n");
});

test("Stop, and leaving the page, end the run on the server", async ({ page, serve, hosts }) => {
  const url = await serve(...ONE_BOX);
  const running = async () => {
    await page.goto(hosts.hostPage(`<iframe src="${url}/embed?${pythonOf(SLEEP)}" width="900" height="500"></iframe>`));
    const editor = await editorIn(page);
    await editor.locator("#run").click();
    await expect(editor.locator("#status")).toHaveText(/^Waiting or running… [1-9]/);
    return editor;
  };
  const isFree = async () => expect(await post(url, "print(1)")).toBe(200);
  await isFree();
  const ways: [string, (editor: Frame) => Promise<unknown>][] = [
    ["Stop", (editor) => editor.locator("#run").click()],
    ["another page in the frame", (editor) => editor.goto("about:blank")],
    ["the frame removed", () => page.evaluate(() => document.querySelector("iframe")?.remove())],
    ["the page left", () => page.goto("about:blank")],
    ["the page closed", () => page.close()],
  ];
  for (const [name, leave] of ways) {
    await test.step(name, async () => {
      const editor = await running();
      const taken = await post(url, "print(1)", AbortSignal.timeout(2000)).catch(() => "waits");
      expect(taken).toBe("waits");
      await leave(editor);
      await isFree();
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

test("a service that dies, and a network that is gone", async ({ page, context, service }) => {
  const mortal = await start([PYTHON, "--drain-time=0s"]);
  await page.goto(`${mortal.url}/embed?${pythonOf(SLEEP)}`);
  await page.locator(".cm-content").waitFor();
  await page.locator("#run").click();
  await expect(page.locator("#status")).toHaveText(/^Waiting or running… [1-9]/);
  mortal.stop();
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
