// The service under test and a page of another origin, for every worker.

import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";

import { test as base, type Frame, type Page } from "@playwright/test";

export const languages = [
  "python", "c", "cpp", "java", "php", "csharp", "mysql", "mongodb", "web", "react", "vue",
] as const;

interface Service {
  /** Where the service listens, such as `http://127.0.0.1:4711`. */
  url: string;
  /** A page of another origin whose body is `html`. */
  hostPage(html: string): string;
}

export const test = base.extend<{ complaints: string[] }, { service: Service }>({
  service: [
    async ({}, use) => {
      const binary = process.env["SANDPIPER_BINARY"];
      if (binary === undefined) throw new Error("SANDPIPER_BINARY must name the program under test");
      const flags = ["--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--compile-rate-limit=0", "--queue=500"];
      // The kernel ends it with this process, however that ends.
      const server = spawn("setpriv", ["--pdeathsig", "TERM", binary, "serve", ...flags, "--queue-wait=100s"], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const url = await announced(server.stdout);
      await allReady(url);
      const pages = new Map<string, string>();
      const host = createServer((request, response) => {
        response.setHeader("Content-Type", "text/html; charset=utf-8");
        response.end(pages.get(request.url ?? "") ?? "");
      });
      await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
      const { port } = host.address() as AddressInfo;
      await use({
        url,
        hostPage(html) {
          const path = `/${pages.size}`;
          pages.set(path, `<!doctype html><meta charset="utf-8"><title>host</title>${html}`);
          // Another host name is another site.
          return `http://localhost:${port}${path}`;
        },
      });
      host.close();
      server.kill();
    },
    { scope: "worker" },
  ],
  /** What the browser complained of: errors, and violations of policies. */
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
  const frame = `<iframe src="${service.url}/embed?${query}" width="1000" height="600"></iframe>`;
  await page.goto(service.hostPage(frame));
  const found = await page.locator("iframe").first().elementHandle();
  const inside = await found?.contentFrame();
  if (inside === null || inside === undefined) throw new Error("there is no frame");
  await inside.waitForSelector(".cm-content");
  return inside;
}

/** Waits until a run has ended, and gives what is said about it. */
export async function ended(frame: Frame): Promise<string> {
  const status = frame.locator("#status");
  await frame.waitForFunction(() => {
    const words = document.getElementById("status")?.textContent ?? "";
    return words !== "" && !/ning…|Waiting|Yours starts/.test(words);
  });
  return (await status.textContent()) ?? "";
}

function announced(output: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines = createInterface(output);
    lines.on("line", (line) => {
      const address = /listening on (http:\/\/[\d.]+:\d+)/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
    lines.on("close", () => reject(new Error("the service ended")));
  });
}

async function allReady(url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/readyz`);
    const { languages: states } = (await answer.json()) as { languages: { id: string; state: string }[] };
    const lacking = states.find(({ state }) => state !== "ready" && state !== "building");
    if (lacking !== undefined) throw new Error(`${lacking.id} is ${lacking.state}: make images`);
    if (states.every(({ state }) => state === "ready")) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
