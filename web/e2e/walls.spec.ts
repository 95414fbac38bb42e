// What a page in the preview cannot reach: the network, the editor, the page
// around it, storage. Each attempt is shown to succeed where the walls are not.

import { createServer } from "node:http";

import { attacks, type Attack } from "./attacks";
import { whole } from "./chromium";
import { lines } from "./documents";
import { expect, listening, test as base } from "./service";

interface Canary {
  url: string;
  /** The paths that were asked for. */
  heard: Set<string>;
}

const test = base.extend<{ canary: Canary }>({
  canary: async ({}, use) => {
    const heard = new Set<string>();
    const server = createServer((request, response) => {
      heard.add(/^\/*(\w+\/[\w-]+)/.exec(request.url ?? "")?.[1] ?? "");
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

test.use({ launchOptions: whole });

/** Those that must share no document have editors of their own, some on a page. */
const leaving = attacks.filter(({ leaves }) => leaves === true).map((attack) => [attack]);
const half = Math.ceil(leaving.length / 2);
const GROUPS: readonly (readonly [what: string, documents: readonly (readonly Attack[])[]])[] = [
  ["that stay where they are", [attacks.filter(({ leaves }) => leaves !== true)]],
  ["that go elsewhere", leaving.slice(0, half)],
  ["that go elsewhere in other ways", leaving.slice(half)],
];
const documentOf = (some: readonly Attack[], url: string) => some.map(({ name, html }) => html(`${url}/${name}`)).join("\n");

for (const [what, documents] of GROUPS) {
  test(`attacks ${what} do not reach the network from the preview`, async ({ page, browser, service, canary }) => {
    // The document of a run is that whose number is the code.
    await page.route("**/api/compile", (route) => {
      const { files } = route.request().postDataJSON() as { files: { content: string }[] };
      const some = documents[Number(files[0]?.content)] ?? [];
      const begins = "<!doctype html><script>console.log('begins')</script>";
      const stdout = begins + documentOf(some, `${canary.url}/preview`);
      return route.fulfill({ headers: { "Sandpiper-Exit": "stage=run; code=0" }, json: { stdout, stderr: "" } });
    });
    const frames = documents.map((_, number) => {
      const query = `lang=web&run=load&autosave=${number}#json={"files":[{"content":"${number}"}]}`;
      return `<iframe src='${service.url}/embed?${query}' width="900" height="400"></iframe>`;
    });
    const address = service.hostPage(frames.join(""));
    await page.goto(address);
    const editors = page.frames().filter((frame) => frame.parentFrame() === page.mainFrame());
    expect(editors).toHaveLength(documents.length);
    for (const editor of editors) await expect(lines(editor).first()).toHaveText(/begins/);

    // The same attacks from plain pages, begun after those in the previews.
    const outside = await browser.newContext();
    for (const some of documents) {
      const plain = await outside.newPage();
      await plain.goto(service.hostPage(documentOf(some, `${canary.url}/plain`)), { waitUntil: "commit" });
    }
    const names = documents.flat().map(({ name }) => name);
    await expect.poll(() => names.filter((name) => !canary.heard.has(`plain/${name}`))).toEqual([]);
    await outside.close();
    expect([...canary.heard].filter((path) => path.startsWith("preview/"))).toEqual([]);

    // Nothing was opened, left or taken away.
    expect(page.context().pages()).toHaveLength(1);
    expect(page.url()).toBe(address);
    for (const editor of editors) await expect(editor.locator("#run")).toBeVisible();
  });
}
