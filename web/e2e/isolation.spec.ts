// Pages that isolate themselves, and the sites that may frame the editor.

import { lines, shown, withFiles } from "./documents";
import { editorIn, ended, expect, test } from "./service";

const isolated = { "Cross-Origin-Opener-Policy": "same-origin" };
const hosts: readonly [name: string, headers: Readonly<Record<string, string>>, isIsolated: boolean][] = [
  ["require-corp", { ...isolated, "Cross-Origin-Embedder-Policy": "require-corp" }, true],
  ["credentialless", { ...isolated, "Cross-Origin-Embedder-Policy": "credentialless" }, true],
  ["none", {}, false],
];

for (const [name, headers, isIsolated] of hosts) {
  // The pages of all other tests have no policy.
  const tag = isIsolated ? [] : "@full";
  test(`a page whose embedder policy is ${name} has the editor and its preview`, { tag }, async ({ page, service, complaints }) => {
    const files = { "index.html": "<!doctype html><p>page</p><script>console.log('said')</script>" };
    const frame = (query: string) => `<iframe src="${service.url}/embed?${query}" width="900" height="600"></iframe>`;
    await page.goto(service.hostPage(frame("lang=python"), headers));
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(isIsolated);
    const python = await editorIn(page);
    await python.click("#run");
    expect(await ended(python)).toContain("Finished");
    await page.goto(service.hostPage(frame(withFiles("lang=web", files)), headers));
    const web = await editorIn(page);
    await web.click("#run");
    await expect(shown(web).locator("p")).toHaveText("page");
    await expect(lines(web)).toHaveText([/said/]);
    expect(complaints).toEqual([]);
  });
}

test("only the named sites can frame the editor", async ({ page, hosts: pages, serve }) => {
  const { url } = await serve("--languages=web", `--frame-ancestors=${pages.origin}`);
  const files = { "index.html": "<!doctype html><p>page</p>" };
  const mine = pages.hostPage(`<iframe src="${url}/embed?${withFiles("lang=web&run=load", files)}"></iframe>`);
  await page.goto(mine);
  await expect(shown(await editorIn(page)).locator("p")).toHaveText("page");
  // The same page under another name is a stranger.
  const refused = page.waitForEvent("console", (message) => /frame-ancestors/.test(message.text()));
  await page.goto(mine.replace("localhost", "127.0.0.1"));
  await refused;
  const frame = await (await page.locator("iframe").elementHandle())?.contentFrame();
  expect(frame?.url()).toMatch(/^chrome-error:/);
});
