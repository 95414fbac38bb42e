// Links and forms between the pages of a program, in the preview.

import type { Locator, Page } from "@playwright/test";

import { apart } from "./chromium";
import { lines, replaced, shown, withFiles } from "./documents";
import { expect, test, type Service } from "./service";

test.use({ launchOptions: apart });

const html = (words: string, more = "") => `<!doctype html><p>${words}</p>${more}`;

/** Opens the editor with these files, runs them, and lists the entries that are built from then on. */
async function run(page: Page, service: Service, files: Readonly<Record<string, string>>, query = "lang=web"): Promise<string[]> {
  await page.goto(`${service.url}/embed?${withFiles(query, files)}`);
  await page.locator(".cm-content").waitFor();
  const built: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/api/compile")) built.push((request.postDataJSON() as { entryFile: string }).entryFile);
  });
  await page.click("#run");
  await expect(shown(page.mainFrame()).locator("p")).toBeVisible();
  return built;
}

/** Does not wait for the click to end: the frame may be gone by then, and never say so. */
const press = (target: Locator) => void target.click().catch(() => {});

test("a link or a form leads to another page of the program, and back", async ({ page, service }) => {
  const built = await run(page, service, {
    "index.html": html("first", `<a href="sub/about.html#end">About</a><form action="sub/about.html"><input name="q" value="a b"><button>Find</button></form>`),
    "sub/about.html": html("second", `<a href="../index.html">Back</a><div style="height: 3000px"></div><b id="end">end</b>`),
  });
  const editor = page.mainFrame();
  const p = shown(editor).locator("p");
  await replaced(page, () => press(shown(editor).getByText("About")));
  await expect(p).toHaveText("second");
  await expect(shown(editor).locator(":target")).toHaveText("end");
  await replaced(page, () => page.getByRole("button", { name: "Reload" }).click());
  await expect(shown(editor).locator(":target")).toHaveText("end");
  await replaced(page, () => press(shown(editor).getByText("Back")));
  await expect(p).toHaveText("first");
  await replaced(page, () => press(shown(editor).getByRole("button", { name: "Find" })));
  await expect(p).toHaveText("second");
  await expect(lines(editor)).toHaveText([/Form submitted: GET sub\/about\.html\?q=a\+b\. The preview opens the page, but does not pass on the values\./]);
  // Each page was built once.
  expect(built).toEqual(["index.html", "sub/about.html"]);
});

test("a page that cannot be built leaves the one before, with the error", async ({ page, service }) => {
  await run(page, service, {
    "index.html": html("first", `<a href="bad.html">Bad</a>`),
    "bad.html": html("bad", `<img src="none.png">`),
  });
  press(shown(page.mainFrame()).getByText("Bad"));
  await expect(page.locator(".preview-banner")).toContainText(/bad\.html was not opened\. bad\.html:1:\d+: /);
  await expect(shown(page.mainFrame()).locator("p")).toHaveText("first");
});

test("a page that claims that links are followed has none built while the reader types, and ten at most after a click", async ({ page, service }) => {
  const others = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`${n}.html`, html(`page ${n}`)]));
  const script = `const own = MessagePort.prototype.postMessage;
    const port = new Promise((found) => {
      MessagePort.prototype.postMessage = function (...args) { found(this); return own.apply(this, args); };
    });
    console.log("mine");
    const forge = () => port.then((port) => {
      for (let n = 0; n < 12; n++) port.postMessage({ type: "follow", address: n + ".html", form: "" });
    });
    addEventListener("click", forge); forge();`;
  const built = await run(page, service, { "index.html": html("first", `<script>${script}</script>`), ...others });
  await expect(lines(page.mainFrame()).last()).toContainText("Not opened: 11.html. Nobody clicked in the page.");
  expect(built).toEqual(["index.html"]);
  await page.route("**/api/compile", (route) => route.abort());
  await shown(page.mainFrame()).locator("p").click();
  await expect(lines(page.mainFrame()).last()).toContainText("Not opened: 11.html. 10 pages were built since the run: press Run.");
  await expect.poll(() => built.length).toBe(11);
});

test("a run that begins while a page is built wins", async ({ page, service }) => {
  await run(page, service, { "index.html": html("first", `<a href="about.html">About</a>`), "about.html": html("second") });
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let answered: Promise<void> | null = null;
  await page.route("**/api/compile", async (route) => {
    const { entryFile } = route.request().postDataJSON() as { entryFile: string };
    if (entryFile === "about.html") answered = released.then(() => route.continue().catch(() => {}));
    await (answered ?? route.continue());
  });
  press(shown(page.mainFrame()).getByText("About"));
  await expect(page.locator(".preview-banner")).toHaveText("Opening about.html…");
  await page.unroute("**/api/compile");
  await page.click("#run");
  await expect(page.locator(".preview-banner")).toBeEmpty();
  await expect(shown(page.mainFrame()).locator("p")).toHaveText("first");
  release();
  await answered;
  await expect(shown(page.mainFrame()).locator("p")).toHaveText("first");
});
