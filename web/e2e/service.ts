// The service under test, which all workers share, and pages of another origin.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createServer, request as ask, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";

import { test as base, type Frame, type Page } from "@playwright/test";
import { parse } from "smol-toml";

interface Definition {
  order?: number;
  default?: boolean;
  output?: "text" | "tables" | "document";
}

/** The languages that are served unless others are chosen, in their order, and the kind of what each prints. */
const definitions = readdirSync("../languages")
  .filter((id) => existsSync(`../languages/${id}/language.toml`))
  .map((id) => ({ id, ...(parse(readFileSync(`../languages/${id}/language.toml`, "utf8")) as Definition) }))
  .filter((definition) => definition.default !== false)
  .sort((a, b) => (a.order ?? Infinity) - (b.order ?? Infinity));
export const languages: readonly string[] = definitions.map(({ id }) => id);
export const outputs = new Map(definitions.map(({ id, output = "text" }) => [id, output]));

/** Whether tests that only multiply others are done, too. */
export const FULL = process.env["FULL"] === "1";

/** The variable with the address of the service that setup.ts starts. */
export const SHARED = "SANDPIPER_SHARED_SERVICE";

interface Hosts {
  /** Where the pages are: another host name than the service's, so another site. */
  origin: string;
  /** A page of another origin whose body is `html`. */
  hostPage(html: string, headers?: Readonly<Record<string, string>>): string;
}

export interface Service extends Hosts {
  /** Where it listens, such as `http://127.0.0.1:4711`: with all languages, and no rate limit. */
  url: string;
}

/** Before a service that may be started later: it has its port already. */
interface ReverseProxy {
  port: number;
  url: string;
  passTo(url: string): void;
  /** Posts are answered so, and passed on again after `null`. */
  answerWith(answer: ((response: ServerResponse) => void) | null): void;
}

export interface Started {
  url: string;
  boxesInUse(): Promise<number>;
  stop(): Promise<void>;
}

interface OfTest {
  complaints: string[];
  reverseProxy: ReverseProxy;
  /** Starts another service with these flags, until the test ends. */
  serve: (...flags: string[]) => Promise<Started>;
}

export const test = base.extend<OfTest, { hosts: Hosts; service: Service }>({
  hosts: [
    async ({}, use) => {
      const pages = new Map<string, { html: string; headers: Readonly<Record<string, string>> }>();
      const host = createServer((request, response) => {
        const { html, headers } = pages.get(request.url ?? "") ?? { html: "", headers: {} };
        response.setHeader("Content-Type", "text/html; charset=utf-8");
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
        response.end(html);
      });
      const origin = `http://localhost:${await listening(host)}`;
      await use({
        origin,
        hostPage(body, headers = {}) {
          const path = `/${pages.size}`;
          pages.set(path, { html: `<!doctype html><meta charset="utf-8"><title>host</title>${body}`, headers });
          return origin + path;
        },
      });
      host.close();
    },
    { scope: "worker" },
  ],
  service: [
    async ({ hosts }, use) => {
      const url = process.env[SHARED];
      if (url === undefined) throw new Error("the service was not started");
      await use({ ...hosts, url });
    },
    { scope: "worker" },
  ],
  reverseProxy: async ({}, use) => {
    const proxy = await proxied();
    await use(proxy);
    proxy.close();
  },
  serve: async ({}, use) => {
    const services: Started[] = [];
    await use(async (...flags) => {
      const service = await start(flags);
      services.push(service);
      return service;
    });
    for (const service of services) await service.stop();
  },
  /** Complaints of the browser: errors, and violations of policies. */
  complaints: async ({ page }, use) => {
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    await use(complaints);
  },
});

export { expect } from "@playwright/test";

/** Opens a host page with the editor in a frame, and gives the frame when it can be typed in. */
export async function embed(page: Page, service: Service, query: string): Promise<Frame> {
  const frame = `<iframe title="Editor" src="${service.url}/embed?${query}" width="1000" height="600"></iframe>`;
  await page.goto(service.hostPage(frame));
  return editorIn(page);
}

/** The editor in the first frame of the page, when it can be typed in. */
export async function editorIn(page: Page): Promise<Frame> {
  const found = await page.locator("iframe").first().elementHandle();
  const inside = await found?.contentFrame();
  if (inside === null || inside === undefined) throw new Error("there is no frame");
  await inside.waitForSelector(".cm-content");
  return inside;
}

/** Waits until a run has ended, and returns its status. */
export async function ended(frame: Frame): Promise<string> {
  const status = frame.locator("#status");
  await frame.waitForFunction(() => {
    const words = document.getElementById("status")?.textContent ?? "";
    return words !== "" && !/ing…|queue…|(?:Retrying|starts|Ends) in/.test(words);
  });
  return (await status.textContent()) ?? "";
}

/** Waits until the browser keeps an edit with these words. */
export async function kept(frame: Frame, words: string): Promise<void> {
  await frame.waitForFunction((own) => Object.values(localStorage).some((text) => String(text).includes(own)), words);
}

/** Keeps scripts and styles back, by their paths below `/embed/`, until `release`; after `lose` they fail. */
export async function held(page: Page, which: (path: string) => boolean) {
  const waiting = new Set<() => void>();
  let state: "held" | "released" | "lost" = "held";
  const decide = (next: "released" | "lost") => {
    state = next;
    for (const go of waiting) go();
    waiting.clear();
  };
  await page.route("**/embed/assets/*", async (route) => {
    const path = new URL(route.request().url()).pathname.replace(/^\/embed\//, "");
    if (which(path) && state === "held") await new Promise<void>((resolve) => waiting.add(resolve));
    if (which(path) && state === "lost") await route.abort("internetdisconnected");
    else await route.continue();
  });
  return { release: () => decide("released"), lose: () => decide("lost") };
}

/** Keeps the requests of runs back until the result is called. */
export async function heldRuns(page: Page): Promise<() => void> {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/api/compile", async (route) => {
    await released;
    await route.continue();
  });
  return release;
}

/** Waits for two of the browser's frames: the page has noticed each size that was new. */
export async function drawn(frame: Frame | Page): Promise<void> {
  await frame.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

/** Stops the clock of a page where it was installed, an hour from now: timers that wait go off once. */
export async function stopClock(page: Page): Promise<void> {
  await page.clock.pauseAt(Date.now() + 3_600_000);
}

/** The port that the system gave. */
export function listening(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

/** A service of one's own, until `stop`. */
export async function start(flags: readonly string[]): Promise<Started> {
  const binary = process.env["SANDPIPER_BINARY"];
  if (binary === undefined) throw new Error("SANDPIPER_BINARY must name the program under test");
  const usual = {
    "--listen": "127.0.0.1:0", "--admin-listen": "127.0.0.1:0", "--compile-rate-limit": "0", "--queue": "500",
    "--queue-wait": "100s", "--drain-time": "0s",
    // One client gets half of them, and all tests are one: with fewer boxes the workers would wait for each other.
    "--boxes": "6", "--live-boxes": "16",
    // Boxes are made ahead for languages that hardly run here.
    "--warm-memory": "0",
    // A busy machine is no fault of the page.
    "--run-wall-time": "100s", "--run-cpu-time": "100s", "--compile-wall-time": "100s",
  };
  const given = new Set(flags.map((flag) => flag.split("=", 1)[0]));
  const others = Object.entries(usual).filter(([name]) => !given.has(name));
  const all = [...others.map(([name, value]) => `${name}=${value}`), ...flags];
  // The kernel ends it with this process, however that ends.
  const server = spawn("setpriv", ["--pdeathsig", "TERM", binary, "serve", ...all], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(server, "exit");
  const { url, metrics } = await announced(server.stdout);
  await allReady(url);
  return {
    url,
    async boxesInUse() {
      const text = await (await fetch(metrics)).text();
      return Number(/^sandpiper_boxes_in_use (\d+)$/m.exec(text)?.[1]);
    },
    async stop() {
      server.kill();
      await ended;
    },
  };
}

async function proxied(): Promise<ReverseProxy & { close(): void }> {
  let target = "";
  let answer: ((response: ServerResponse) => void) | null = null;
  const server = createServer((request, response) => {
    if (answer !== null && request.method === "POST") {
      request.resume().on("end", () => answer?.(response));
      return;
    }
    const { method, headers } = request;
    const passed = ask(`${target}${request.url}`, { method: method ?? "GET", headers }, (result) => {
      response.writeHead(result.statusCode ?? 502, result.headers);
      result.pipe(response);
    });
    request.pipe(passed.on("error", () => response.destroy()));
  });
  const port = await listening(server);
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    passTo: (url) => void (target = url),
    answerWith: (next) => void (answer = next),
    close: () => (server.close(), server.closeAllConnections()),
  };
}

/** The addresses in its log. */
function announced(output: NodeJS.ReadableStream): Promise<{ url: string; metrics: string }> {
  return new Promise((resolve, reject) => {
    let url: string | undefined;
    const lines = createInterface(output);
    lines.on("line", (line) => {
      url ??= /listening on (http:\/\/[\d.]+:\d+)/.exec(line)?.[1];
      const metrics = /metrics on (http:\/\/\S+)/.exec(line)?.[1];
      if (url !== undefined && metrics !== undefined) resolve({ url, metrics });
    });
    lines.on("close", () => reject(new Error("the service ended")));
  });
}

/** For a language that never becomes ready; slow ones, as on a busy machine, are tried again. */
const PATIENCE_MS = 300_000;

async function allReady(url: string): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await fetch(`${url}/readyz`);
    const { languages: states } = (await answer.json()) as { languages: { id: string; state: string; reason?: string }[] };
    const lacking = states.find(({ state }) => state !== "ready");
    if (lacking === undefined) return;
    const { id, state, reason } = lacking;
    if (state === "missing" || performance.now() > until) throw new Error(`${id} is ${state}: ${reason}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
