// What a page in the preview cannot reach: the network, the editor, the page
// around it, storage. Each attempt is shown to succeed where the walls are not.

import { createServer } from "node:http";

import type { Page } from "@playwright/test";

import { attacks } from "./attacks";
import { apart } from "./documents";
import { embed, expect, listening, test as base } from "./service";

interface Canary {
  url: string;
  /** The names that were asked for. */
  heard: Set<string>;
}

const test = base.extend<{ canary: Canary }>({
  canary: async ({}, use) => {
    const heard = new Set<string>();
    const server = createServer((request, response) => {
      heard.add(/\w[\w-]*/.exec(request.url ?? "")?.[0] ?? "");
      response.setHeader("Access-Control-Allow-Origin", "*");
      response.end();
    });
    server.on("upgrade", (request, socket) => {
      heard.add((request.url ?? "").slice(1));
      socket.destroy();
    });
    await use({ url: `http://127.0.0.1:${await listening(server)}`, heard });
    server.closeAllConnections();
    server.close();
  },
});

test.use({ launchOptions: apart });

/** Has the preview show this document, as it is. */
async function answerWith(page: Page, html: () => string) {
  await page.route("**/api/compile", (route) =>
    route.fulfill({
      headers: { "Sandpiper-Exit": "stage=run; code=0" },
      json: { stdout: html(), stderr: "" },
    }),
  );
}

test("the attacks reach the canary from a plain page", async ({ context, hosts, canary }) => {
  for (const { name, html } of attacks) {
    const page = await context.newPage();
    await page.goto(hosts.hostPage(html(`${canary.url}/${name}`)), { waitUntil: "commit" });
    await expect.poll(() => canary.heard.has(name), { message: name, timeout: 20_000 }).toBe(true);
    for (const open of context.pages()) await open.close();
  }
});

test("no attack reaches it from the preview", async ({ context, page, service, canary }) => {
  let html = "";
  await answerWith(page, () => html);
  const editor = await embed(page, service, "lang=web");
  const address = page.url();
  for (const { name, html: attack } of attacks) {
    html = `<!doctype html><script>setTimeout(() => console.log("tried ${name}"), 100)</script>
      ${attack(`${canary.url}/${name}`)}`;
    const loaded = page.waitForEvent("framenavigated", (frame) => frame.url() === "about:srcdoc");
    await editor.click("#run");
    await loaded;
    // A page that goes somewhere else says nothing more.
    await page.waitForTimeout(250);
    expect.soft(context.pages().length, name).toBe(1);
    expect.soft(page.url(), name).toBe(address);
    expect.soft(await editor.locator("#run").count(), name).toBe(1);
  }
  // Requests that were on their way have come.
  await page.waitForTimeout(1500);
  expect([...canary.heard]).toEqual([]);
});
