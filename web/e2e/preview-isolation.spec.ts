// The isolation of a page in the preview from the network, the editor, the page
// around it, and storage. Each attempt succeeds without the isolation.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:http";

import type { BrowserContext, Frame, Page, PlaywrightWorkerArgs, PlaywrightWorkerOptions } from "@playwright/test";

import { attacks, type Attack } from "./attacks";
import { apart, whole } from "./chromium";
import { lines } from "./documents";
import { expect, listening, test as base, type Service } from "./service";

interface Canary {
  /** The address of this attack alone. */
  at(attack: string): Promise<string>;
  /** The attacks that came to theirs: by a connection, if without a request, or a datagram. */
  heard: Set<string>;
}

const test = base.extend<{ canary: Canary }, { inside: BrowserContext; outside: BrowserContext }>({
  inside: [ordinary, { scope: "worker" }],
  outside: [ordinary, { scope: "worker" }],
  canary: async ({}, use) => {
    const heard = new Set<string>();
    const closers: (() => void)[] = [];
    const at = async (attack: string) => {
      const server = createServer((_, response) => {
        response.setHeader("Access-Control-Allow-Origin", "*");
        response.end();
      });
      server.on("connection", () => heard.add(attack));
      server.on("upgrade", (_, socket) => socket.destroy());
      const port = await listening(server);
      const datagrams = createSocket("udp4", () => heard.add(attack)).bind(port, "127.0.0.1");
      await once(datagrams, "listening");
      closers.push(() => (server.closeAllConnections(), server.close(), datagrams.close()));
      return `http://127.0.0.1:${port}`;
    };
    await use({ at, heard });
    for (const close of closers) close();
  },
  page: async ({ inside }, use) => use(await alone(inside)),
});

test.use({ launchOptions: process.env["FULL"] === "1" ? whole : apart });

type Shared = Pick<PlaywrightWorkerArgs & PlaywrightWorkerOptions, "playwright" | "launchOptions">;

/** Not a private window, in which Chromium follows no hint. It takes seconds to start: so the tests of a worker share it. */
async function ordinary({ playwright, launchOptions }: Shared, use: (browser: BrowserContext) => Promise<void>) {
  const browser = await playwright.chromium.launchPersistentContext("", launchOptions);
  await use(browser);
  await browser.close();
}

/** A new page, and no other. */
async function alone(browser: BrowserContext): Promise<Page> {
  const others = browser.pages();
  const page = await browser.newPage();
  for (const other of others) await other.close();
  return page;
}

/** Attacks that share a document: few, as browsers limit the requests at once. */
const STAYING = parts(attacks.filter(({ alone, ends, whole }) => !alone && !ends && !whole), 25);
const ALONE = parts(attacks.filter(({ alone }) => alone === true), 1);
/** Each document has an editor; these are on one page. */
const GROUPS = parts([...STAYING, ...ALONE], 8);

function parts<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, part) => all.slice(part * size, (part + 1) * size));
}

/** A document with these attacks, each on an address of its own. */
async function documentOf(some: readonly Attack[], where: string, canary: Canary): Promise<string> {
  const all = some.map(async ({ name, html }) => html(await canary.at(`${where}/${name}`)));
  return (await Promise.all(all)).join("\n");
}

type Documents = readonly (readonly Attack[])[];

/** Of each document another: the editor remembers what hung. */
const codeOf = ([first]: readonly Attack[]) => first?.name ?? "";

/** Shows them in the previews of editors on one page, and gives the editors. */
async function preview(page: Page, service: Service, canary: Canary, documents: Documents): Promise<Frame[]> {
  const all = documents.map(async (some) => [codeOf(some), await documentOf(some, "preview", canary)] as const);
  const inside = new Map(await Promise.all(all));
  await page.route("**/api/compile", (route) => {
    const { files } = route.request().postDataJSON() as { files: { content: string }[] };
    const stdout = `<!doctype html><script>console.log("begins")</script>${inside.get(files[0]?.content ?? "")}`;
    return route.fulfill({ headers: { "Sandpiper-Exit": "stage=run; code=0" }, json: { stdout, stderr: "" } });
  });
  const frames = documents.map(codeOf).map((code) => {
    const query = `lang=web&run=load&autosave=${code}#json={"files":[{"content":"${code}"}]}`;
    return `<iframe src='${service.url}/embed?${query}' width="900" height="400"></iframe>`;
  });
  await page.goto(service.hostPage(frames.join("")));
  const editors = page.frames().filter((frame) => frame.parentFrame() === page.mainFrame());
  expect(editors).toHaveLength(documents.length);
  return editors;
}

/** The same from plain pages, begun after those in the previews: all come to their canaries, and those do not. */
async function compare(outside: BrowserContext, service: Service, canary: Canary, documents: Documents) {
  for (const some of documents) {
    // In front of the others: behind them no speculation begins.
    const plain = await outside.newPage();
    const html = await documentOf(some, "plain", canary);
    await plain.goto(service.hostPage(html), { waitUntil: "commit" });
    const silent = () => some.map(({ name }) => name).filter((name) => !canary.heard.has(`plain/${name}`));
    await expect.poll(silent).toEqual([]);
  }
  await alone(outside);
  expect([...canary.heard].filter((attack) => attack.startsWith("preview/"))).toEqual([]);
}

async function contain(page: Page, outside: BrowserContext, service: Service, canary: Canary, documents: Documents) {
  const editors = await preview(page, service, canary, documents);
  const address = page.url();
  for (const editor of editors) await expect(lines(editor).first()).toHaveText(/begins/);
  await compare(outside, service, canary, documents);

  // Nothing was opened, left or taken away.
  expect(page.context().pages()).toEqual([page]);
  expect(page.url()).toBe(address);
  for (const editor of editors) await expect(editor.locator("#run")).toBeVisible();
}

for (const [group, documents] of GROUPS.entries()) {
  const what = `attacks, ${group + 1} of ${GROUPS.length},`;
  test(`${what} do not reach the network from the preview`, async ({ page, outside, service, canary }) => {
    await contain(page, outside, service, canary, documents);
  });
}

test("attacks of the whole browser do not reach the network from the preview", async ({ playwright, service, canary }) => {
  const documents = [attacks.filter((attack) => attack.whole === true)];
  await ordinary({ playwright, launchOptions: whole }, async (inside) =>
    ordinary({ playwright, launchOptions: whole }, async (outside) =>
      contain(await alone(inside), outside, service, canary, documents),
    ),
  );
});

for (const attack of attacks.filter(({ ends }) => ends === true)) {
  test(`${attack.name} does not reach the network from the preview`, async ({ page, outside, service, canary }) => {
    const ended = new Promise<void>((resolve) => page.once("crash", () => resolve()));
    const [editor] = await preview(page, service, canary, [[attack]]);
    if (editor === undefined) throw new Error("there is no editor");
    const begins = expect(lines(editor).first()).toHaveText(/begins/);
    await Promise.race([ended, begins.catch(() => ended)]);
    await compare(outside, service, canary, [[attack]]);
  });
}
