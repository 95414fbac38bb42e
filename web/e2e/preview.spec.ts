// The preview of a page: what it shows and says, what it cannot reach, and how
// it is ended.

import type { Frame, Page } from "@playwright/test";

import { embed, expect, test } from "./service";

// Playwright turns site isolation off, without which nothing is apart.
test.use({
  launchOptions: {
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-features=Translate", "--site-per-process"],
  },
});

/** Has these files run when Run is pressed. */
async function submit(page: Page, language: string, files: Readonly<Record<string, string>>) {
  const list = Object.entries(files).map(([path, content]) => ({ path, content }));
  const body = { language, entryFile: list[0]?.path ?? "", files: list };
  await page.route("**/api/compile", (route) => route.continue({ postData: JSON.stringify(body) }));
}

const lines = (editor: Frame) => editor.locator(".console-log > ol > li");
const shown = (editor: Frame) => editor.frameLocator(".preview iframe").frameLocator("iframe");

for (const [language, part] of [["web", "#range"], ["react", "button"], ["vue", "button"]] as const) {
  test(`${language}: the starter is shown, without a complaint`, async ({ page, service, complaints }) => {
    const editor = await embed(page, service, `lang=${language}`);
    await editor.click("#run");
    await expect(shown(editor).locator(part).first()).toBeVisible();
    expect(complaints).toEqual([]);
  });
}

test("what a page says has its level, its values and its line", async ({ page, service }) => {
  const script = `console.log("a", { b: [1, 2] });
console.warn("<img src=x onerror=alert(1)>");
for (let i = 0; i < 3; i++) console.log("same");
function fail() { throw new TypeError("bad"); }
setTimeout(fail);`;
  // The positions of the files need the paths that the editor has: the starter's.
  await submit(page, "web", { "index.html": "<!doctype html><script src=main.js></script>", "main.js": script });
  const editor = await embed(page, service, "lang=web");
  await editor.click("#run");
  await expect(lines(editor)).toHaveCount(4);
  await expect(lines(editor).nth(0)).toContainText("{b: Array(2)}");
  await expect(lines(editor).nth(0)).toContainText("main.js:1");
  await expect(lines(editor).nth(1)).toContainText("<img src=x onerror=alert(1)>");
  await expect(lines(editor).nth(2)).toContainText("3×");
  await expect(lines(editor).nth(3)).toContainText("TypeError: bad");
  await expect(lines(editor).nth(3)).toContainText("main.js:4");
});

test("react: an error names the line of the file", async ({ page, service }) => {
  const app = `export default function App() {
  return <button onClick={() => missing()}>Go</button>;
}`;
  await submit(page, "react", { "App.jsx": app });
  const editor = await embed(page, service, "lang=react");
  await editor.click("#run");
  await shown(editor).locator("button").click();
  await expect(lines(editor).last()).toContainText("App.jsx:2");
});

test("the page reaches neither the editor nor the network", async ({ page, service }) => {
  const script = `const tried = {
  editor: () => top.document.body, storage: () => top.localStorage, parent: () => parent.parent.document,
  leave: () => { top.location = "about:blank"; },
};
for (const [name, attempt] of Object.entries(tried)) {
  try { attempt(); console.log(name, "REACHED"); } catch (error) { console.log(name, error.name); }
}
console.log(origin, JSON.stringify(document.cookie));
localStorage.kept = 1;
console.log(localStorage.getItem("kept"));
fetch("https://example.invalid/").catch(() => console.log("no network"));`;
  await submit(page, "web", { "index.html": `<!doctype html><script>${script}</script>` });
  const editor = await embed(page, service, "lang=web");
  await editor.click("#run");
  const address = page.url();
  const said = editor.locator(".console-log");
  await expect(said).toContainText("no network");
  for (const name of ["editor", "storage", "parent", "leave"]) {
    await expect(said).toContainText(`${name} SecurityError`);
  }
  await expect(said).toContainText('null ""');
  await expect(said).not.toContainText("REACHED");
  expect(page.url()).toBe(address);
  expect(await editor.evaluate(() => localStorage.getItem("kept"))).toBeNull();
});

test("a page that hangs is told, stopped and not started unasked", async ({ page, service }) => {
  const html = "<!doctype html><script>console.log('before'); while (true) {}</script>";
  await submit(page, "web", { "index.html": html });
  const editor = await embed(page, service, "lang=web");
  await editor.click("#run");
  await expect(lines(editor)).toContainText(["before"]);
  const stop = editor.locator(".preview-stop");
  await expect(editor.locator(".preview-banner")).toContainText("not responding");
  await stop.click();
  await expect(editor.locator(".preview iframe")).toHaveCount(0);
  const again = await embed(page, service, "lang=web&run=load");
  await expect(again.locator(".preview-banner")).toContainText("did not respond the last time");
  await expect(again.locator(".preview iframe")).toHaveCount(0);
});

test("a thousand lines are shown, the rest is counted", async ({ page, service }) => {
  const html = "<!doctype html><script>for (let i = 0; i < 5000; i++) console.log(i)</script>";
  await submit(page, "web", { "index.html": html });
  const editor = await embed(page, service, "lang=web");
  await editor.click("#run");
  await expect(lines(editor)).toHaveCount(1000);
  await expect(editor.locator(".console-bar")).toContainText("4000 more not shown");
});
