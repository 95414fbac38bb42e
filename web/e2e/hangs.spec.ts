// Pages that hang: the editor goes on, offers Stop, and does not start them unasked.

import { apart, lines, shown, withFiles } from "./documents";
import { editorIn, expect, freePort, test } from "./service";

test.use({ launchOptions: apart });

const hanging = [
  ["at once", "web", { "index.html": "<!doctype html><script>console.log('before'); while (true) {}</script>" }],
  ["in an event handler", "web", {
    "index.html": `<!doctype html><button onclick="console.log('before'); while (true) {}">x</button>
      <script>setTimeout(() => document.querySelector("button").click(), 3000)</script>`,
  }],
  ["in an effect of React", "react", {
    "App.jsx": `import { useEffect } from "react";
      export default function App() { useEffect(() => { console.log("before"); while (true) {} }); return <p>x</p>; }`,
  }],
  ["in a setup of Vue", "vue", {
    "App.vue": "<script setup>console.log('before'); while (true) {}</script><template><p>x</p></template>",
  }],
] as const;

const own = "an origin of its own";
const cases = [...hanging.map((one) => [own, ...one] as const), ["the editor's origin", ...hanging[0]] as const];

for (const [where, name, language, files] of cases) {
  test(`a page that hangs ${name}, from ${where}: the editor goes on`, async ({ page, hosts, service, serve }) => {
    let { url } = service;
    if (where === own) {
      const port = await freePort();
      url = await serve(`--listen=127.0.0.1:${port}`, `--preview-origin=http://preview.localhost:${port}`);
    }
    const source = `${url}/embed?${withFiles(`lang=${language}&run=load`, files)}`;
    await page.goto(hosts.hostPage(`<iframe src="${source}" width="1000" height="600"></iframe>`));
    const editor = await editorIn(page);
    const isOwn = new URL((await editor.locator(".preview iframe").getAttribute("src")) ?? "", url).origin !== url;
    expect(isOwn).toBe(where === own);
    await expect(lines(editor)).toContainText(["before"]);

    // It hangs now: the page cannot answer, the editor's timers go on.
    await editor.evaluate(() => {
      Object.assign(window, { ticks: 0 });
      setInterval(() => Object.assign(window, { ticks: Number(Reflect.get(window, "ticks")) + 1 }), 20);
    });
    const ticks = () => editor.evaluate(() => Number(Reflect.get(window, "ticks")));
    const banner = editor.locator(".preview-banner");
    await expect(banner).toContainText("not responding");
    const before = await ticks();
    await expect.poll(ticks).toBeGreaterThan(before + 10);

    // A reload does not start it again.
    await page.reload();
    const again = await editorIn(page);
    await expect(again.locator(".preview-banner")).toContainText("did not respond the last time");
    await expect(again.locator(".preview iframe")).toHaveCount(0);

    // Who asks gets it, and Stop ends it.
    await again.click("#run");
    await again.locator(".preview-stop").click();
    await expect(again.locator(".preview iframe")).toHaveCount(0);
    await expect(again.locator(".preview-banner")).toHaveText("The page was stopped.");
    await expect(again.getByRole("button", { name: "Reload" })).toBeFocused();
  });
}

test("after a page was stopped, another runs", async ({ page, service }) => {
  const files = { "index.html": "<!doctype html><script>while (true) {}</script>" };
  await page.goto(`${service.url}/embed?${withFiles("lang=web", files)}`);
  const editor = page.mainFrame();
  await page.click("#run");
  await page.locator(".preview-stop").click();
  await page.locator(".cm-content").fill("<!doctype html><p>fine</p><script>console.log('well')</script>");
  await page.click("#run");
  await expect(shown(editor).locator("p")).toHaveText("fine");
  await expect(lines(editor)).toContainText(["well"]);
  await expect(page.locator(".preview-banner")).toHaveText("");
  await page.goto("about:blank");
  await page.goto(`${service.url}/embed?lang=web&run=load`);
  await expect(page.locator(".preview iframe")).toHaveCount(1);
});
