// Influences of host pages on the editor: storage that is blocked or apart, a sandbox
// without an origin, no JavaScript. The work goes on, and nothing is said.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { faults } from "./accessibility";
import { shown } from "./documents";
import { FULL, editorIn, ended, expect, kept, languages, test } from "./service";

/** Edits, runs, resets, undoes, takes a link: all that a person does on this page of a host. */
async function journey(page: Page, host: string): Promise<void> {
  await page.clock.install();
  await page.goto(host);
  const frame = await editorIn(page);
  const code = frame.locator(".cm-content");
  // Typing over marked text, Chromium puts a style attribute around it, which the page's policy is against.
  await code.click();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.type('print("my own")');
  await frame.locator("#run").click();
  await expect(frame.locator(".stdout pre")).toHaveText("my own\n");
  // Longer than edits wait to be kept.
  await page.clock.runFor(10_000);
  await expect(frame.locator(".notice")).not.toHaveClass(/shown/);

  const choose = async (name: string) => {
    await frame.locator("#menu-button").click();
    await frame.getByRole("menuitem", { name }).click();
  };
  await choose("Copy link");
  await expect(frame.locator(".notice.shown, dialog[open]").first()).toBeVisible();
  await page.keyboard.press("Escape");
  await choose("Reset");
  await expect(code).not.toContainText("my own");
  await frame.getByRole("button", { name: "Undo" }).click();
  await expect(code).toHaveText('print("my own")');

  const background = () => frame.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.emulateMedia({ colorScheme: "light" });
  expect(await background()).toBe("rgb(255, 255, 255)");
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await background()).toBe("rgb(27, 31, 36)");
}

const frameOf = (url: string, query: string, attributes = "") =>
  `<iframe src="${url}/embed?${query}" width="1000" height="600" allow="clipboard-write" ${attributes}></iframe>`;

test("storage that throws", async ({ page, service, complaints }) => {
  await page.addInitScript(() => {
    for (const name of ["localStorage", "sessionStorage", "indexedDB"]) {
      Object.defineProperty(window, name, {
        get() {
          throw new DOMException("blocked", "SecurityError");
        },
      });
    }
  });
  await journey(page, service.hostPage(frameOf(service.url, "lang=python")));
  expect(complaints).toEqual([]);
});

test("storage that is full", async ({ page, service, complaints }) => {
  await page.addInitScript(() => {
    Storage.prototype.setItem = () => {
      throw new DOMException("full", "QuotaExceededError");
    };
  });
  await journey(page, service.hostPage(frameOf(service.url, "lang=python")));
  expect(complaints).toEqual([]);
});

const SANDBOX = 'sandbox="allow-scripts"';

test("a sandbox that takes the origin away", async ({ page, service, complaints }) => {
  const origins: (string | undefined)[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") void request.allHeaders().then((headers) => origins.push(headers["origin"]));
  });
  await journey(page, service.hostPage(frameOf(service.url, "lang=python", SANDBOX)));
  expect(origins).toEqual(["null"]);
  // Such a page is given no clipboard; the link is copied in the way of before.
  expect(complaints.filter((text) => !text.includes("Clipboard API has been blocked"))).toEqual([]);
});

for (const [language, part] of [["web", "#range"], ["react", "button"], ["vue", "button"]] as const) {
  const tag = language === "react" ? [] : "@full";
  test(`${language}: a preview in a sandbox that takes the origin away`, { tag }, async ({ page, service, complaints }) => {
    await page.goto(service.hostPage(frameOf(service.url, `lang=${language}`, SANDBOX)));
    const frame = await editorIn(page);
    await frame.locator("#run").click();
    expect(await ended(frame)).toContain("Finished");
    await expect(shown(frame).locator(part).first()).toBeVisible();
    expect(complaints).toEqual([]);
  });
}

test("each site that embeds has separate storage", async ({ page, service }) => {
  const html = frameOf(service.url, "lang=python&autosave=same");
  await page.goto(service.hostPage(html));
  const frame = await editorIn(page);
  await frame.locator(".cm-content").click();
  await page.keyboard.type("# of one site");
  await kept(frame, "# of one site");
  // The service itself, another site than the host page.
  await page.goto(`${service.url}/embed?lang=python&autosave=same`);
  await expect(page.locator(".cm-content")).toBeVisible();
  await expect(page.locator(".cm-content")).not.toContainText("of one site");
  await page.goto(service.hostPage(html));
  await expect((await editorIn(page)).locator(".cm-content")).toContainText("of one site");
});

/** The files of a language's sample, as they are in the repository. */
function starterOf(language: string): Map<string, string> {
  const folder = `../languages/${language}/starter`;
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(folder.length + 1), readFileSync(path, "utf8")];
    }),
  );
}

test("without JavaScript every file of every language can be read", async ({ browser, service }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  // By default one with several files: crates/server/src/embed/page.rs writes those of any language.
  for (const language of FULL ? languages : ["c"]) {
    await page.goto(`${service.url}/embed?lang=${language}`);
    const files = starterOf(language);
    const figures = page.locator("#code figure");
    await expect(figures).toHaveCount(files.size);
    for (const figure of await figures.all()) {
      await figure.scrollIntoViewIfNeeded();
      await expect(figure.locator("pre")).toBeVisible();
      const name = (await figure.locator("figcaption").textContent()) ?? "";
      expect(await figure.locator("pre").textContent(), `${language}: ${name}`).toBe(files.get(name));
    }
    await expect(page.locator(".noscript")).toHaveText("Running the code needs JavaScript; reading it does not.");
    // Commands that need a script are not offered.
    await expect(page.locator("#run")).toBeHidden();
    await expect(page.locator("#menu-button")).toBeHidden();
  }
  await context.close();
});

for (const language of languages) {
  const tag = language === "python" ? [] : "@full";
  test(`${language}: the page that no script has changed has no fault, in both themes`, { tag }, async ({ page, service }) => {
    // The tool is a script itself: so only those of the page are kept away.
    await page.route("**/*.js", (route) => route.abort());
    await page.route("**/embed?*", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: (await response.text()).replaceAll(/<\/?noscript>/g, "") });
    });
    await page.goto(`${service.url}/embed?lang=${language}`);
    await expect(page.locator(".noscript")).toBeVisible();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await faults(page.mainFrame()), colorScheme).toEqual([]);
    }
  });
}
