// The preview of a page: its view and console, the places that it cannot reach, and how
// it is ended.

import { faults } from "./accessibility";
import { apart } from "./chromium";
import { lines, replaced, shown, submit, withFiles } from "./documents";
import { embed, expect, stopClock, test } from "./service";

test.use({ launchOptions: apart });

test("a message of a page has its level, its values and its line", async ({ page, service }) => {
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

test("the page does not reach the editor", async ({ page, service }) => {
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
console.log("all tried");`;
  await submit(page, "web", { "index.html": `<!doctype html><script>${script}</script>` });
  const editor = await embed(page, service, "lang=web");
  await editor.click("#run");
  const address = page.url();
  const said = editor.locator(".console-log");
  await expect(said).toContainText("all tried");
  for (const name of ["editor", "storage", "parent", "leave"]) {
    await expect(said).toContainText(`${name} SecurityError`);
  }
  await expect(said).toContainText('null ""');
  await expect(said).not.toContainText("REACHED");
  expect(page.url()).toBe(address);
  expect(await editor.evaluate(() => localStorage.getItem("kept"))).toBeNull();
});

test("the bar: reload, widths, backdrop; the keyboard comes out again", async ({ page, service }) => {
  // It keeps Tab to itself, as an editor or a game does.
  const html = `<!doctype html><p>wide</p><input><script>
    addEventListener("keydown", (event) => { if (event.key === "Tab") event.preventDefault(); });
    console.log("loaded", innerWidth)</script>`;
  await page.clock.install();
  await page.goto(`${service.url}/embed?${withFiles("lang=web", { "index.html": html })}`);
  const editor = page.mainFrame();
  // There is nothing to show before the first run.
  await expect(page.locator(".preview-bar")).toBeHidden();
  await page.click("#run");
  await expect(lines(editor)).toHaveCount(1);
  const frame = page.locator(".preview iframe");
  await expect(frame).toHaveAttribute("title", /Esc, then Tab/);
  for (const [name, width] of [["320 pixels wide", 320], ["768 pixels wide", 768]] as const) {
    await page.getByTitle(name).click();
    expect((await frame.boundingBox())?.width).toBe(width);
    await expect(page.getByTitle(name)).toHaveAttribute("aria-pressed", "true");
  }
  await page.getByTitle("Full width").click();
  expect((await frame.boundingBox())?.width).toBe((await page.locator(".preview-stage").boundingBox())?.width);
  const backdrop = () => page.locator(".preview-stage").evaluate((stage) => getComputedStyle(stage).backgroundColor);
  expect(await backdrop()).toBe("rgb(255, 255, 255)");
  await page.getByRole("button", { name: "Dark background" }).click();
  expect(await backdrop()).toBe("rgb(27, 31, 36)");
  // From now on no time passes: a frame that answers late would lose the focus.
  await stopClock(page);
  await shown(editor).locator("p").evaluate((paragraph) => paragraph.remove());
  await page.getByRole("button", { name: "Reload" }).click();
  await expect(shown(editor).locator("p")).toHaveText("wide");

  await shown(editor).locator("input").click();
  await expect(page.locator(".preview-keys")).toBeVisible();
  await page.keyboard.press("Tab");
  await expect(frame).toBeFocused();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  await expect(page.getByTitle("All messages")).toBeFocused();
  await expect(page.locator(".preview-keys")).toBeHidden();
  await shown(editor).locator("input").click();
  await expect(page.locator(".preview-keys")).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Shift+Tab");
  await expect(page.getByRole("button", { name: "Reload" })).toBeFocused();
});

test("axe finds nothing in preview and console", async ({ page, service }) => {
  const html = `<!doctype html><script>console.warn({ a: 1 }); console.table([{ b: 2 }]); console.debug("d");
    console.info("i"); fail()</script>`;
  await page.goto(`${service.url}/embed?${withFiles("lang=web", { "index.html": html })}`);
  await page.locator(".cm-content").waitFor();
  await page.click("#run");
  await expect(lines(page.mainFrame())).toHaveCount(5);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await faults(page.mainFrame(), [".preview", ".console"])).toEqual([]);
  }
});

test("hidden parts are absent; the page is there", async ({ page, service }) => {
  const check = async (hide: string, isThere: Readonly<Record<string, boolean>>) => {
    await page.goto("about:blank");
    const files = { "index.html": "<!doctype html><p>page</p><script>console.log(1)</script>" };
    await page.goto(`${service.url}/embed?${withFiles(`lang=web&run=load&hide=${hide}`, files)}`);
    await expect(shown(page.mainFrame()).locator("p")).toHaveText("page");
    for (const [part, wanted] of Object.entries(isThere)) {
      expect(await page.locator(part).isVisible(), `${hide}: ${part}`).toBe(wanted);
    }
  };
  await check("", { ".console": true, "#run": true, "#tabs": true });
  await check("console", { ".console": false, "#run": true });
  await check("console,toolbar,tabs", { ".console": false, "#run": true, "#tabs": false, "#menu-button": false });
});

test("a form that would leave the page is reported, not sent", async ({ page, service }) => {
  const html = `<!doctype html><p>page</p>
    <form action="search.html?old=1#top"><input name="q" value="a b"><button>get</button></form>
    <form action="https://example.com/in" method="post"><input name="n" value="1"><button>post</button></form>
    <form action="/kept"><button name="by" value="me" formmethod="post" formaction="other">by button</button></form>
    <form id="own" onsubmit="event.preventDefault(); console.log('own')"><button>own</button></form>
    <form id="bare"><input name="x" value="2"><button>bare</button></form>
    <dialog open><form method="dialog"><button>close</button></form></dialog>
    <button onclick="document.forms[0].submit()">by script</button>`;
  await page.goto(`${service.url}/embed?${withFiles("lang=web&run=load", { "index.html": html })}`);
  const editor = page.mainFrame();
  for (const [button, words] of [
    ["get", "GET search.html?q=a+b"],
    ["post", "POST https://example.com/in n=1"],
    ["by button", "POST other by=me"],
    ["bare", "GET ?x=2"],
    ["by script", "GET search.html?q=a+b"],
  ] as const) {
    await shown(editor).getByRole("button", { name: button, exact: true }).click();
    await expect(lines(editor).last().locator(".words")).toHaveText(`Info: Not sent: ${words}. The preview has no network access.`);
  }
  await shown(editor).getByRole("button", { name: "own" }).click();
  await expect(lines(editor).last().locator(".words")).toHaveText("own");
  await shown(editor).getByRole("button", { name: "close" }).click();
  await expect(shown(editor).locator("dialog")).toBeHidden();
  await expect(shown(editor).locator("p")).toHaveText("page");
  await expect(page.locator(".preview-banner")).toBeEmpty();
});

test("a page that is left comes back, with a word on it; one that leaves whenever it starts is stopped", async ({ page, service }) => {
  const show = async (html: string) => {
    await submit(page, "web", { "index.html": `<!doctype html><p>page</p>${html}` });
    await page.locator("#run").click();
  };
  const editor = page.mainFrame();
  const banner = page.locator(".preview-banner");
  const p = shown(editor).locator("p");
  const isRemembered = () => page.evaluate(() => Object.keys(localStorage).some((key) => key.includes("hung")));
  await page.goto(`${service.url}/embed?lang=web`);
  await page.locator(".cm-content").waitFor();
  await show(`<button onclick="document.querySelector('p').textContent = 'old'; location.href = 'https://example.com/'">Go</button>`);
  // Twice: it may be left again as soon as it answers.
  for (const time of [1, 2]) {
    await replaced(page, () => shown(editor).getByRole("button").click());
    await expect(p, `${time}`).toHaveText("page");
    await expect(banner).toHaveText(/^The page opened another page/);
    // Ended and begun again, not only covered.
    await expect.poll(() => page.frames().length).toBe(3);
    // Answers twice, a second apart, before it counts as one that runs.
    await expect.poll(isRemembered).toBe(false);
  }
  await page.getByRole("button", { name: "Reload" }).click();
  await expect(p).toHaveText("page");
  await expect(banner).toBeEmpty();
  await show("<script>location.href = 'https://example.com/'</script>");
  await expect(banner).toHaveText(/^The page was stopped: it opens another page when it starts/);
  await expect(page.locator(".preview iframe")).toHaveCount(0);
  // A document that is opened again is none that was left, nor one that is slow: both run well, and longer than is waited.
  for (const [script, words] of [
    ["setTimeout(() => { document.open(); document.write('<p>again</p>'); document.close(); }, 100)", "again"],
    ["const end = Date.now() + 1500; addEventListener('load', () => { while (Date.now() < end); })", "page"],
  ] as const) {
    await show(`<script>${script}</script>`);
    await expect(p).toHaveText(words);
    await expect.poll(isRemembered).toBe(false);
    await expect(banner).toBeEmpty();
    await expect(p).toHaveText(words);
  }
});
