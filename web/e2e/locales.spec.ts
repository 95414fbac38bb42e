// The page in the languages of its readers: its words, its direction, and room
// for both in narrow frames.

import { readFileSync, readdirSync } from "node:fs";

import type { Locator, Page } from "@playwright/test";

import { faults } from "./accessibility";
import { withFiles } from "./documents";
import { embed, expect, test } from "./service";
import { replaceCode } from "./typing";

type Words = Readonly<Record<string, string>>;
const LOCALES = "src/locales";
const words = new Map(
  readdirSync(LOCALES).map((name) => [name.replace(".json", ""), JSON.parse(readFileSync(`${LOCALES}/${name}`, "utf8")) as Words]),
);
const others = [...words.keys()].filter((tag) => tag !== "en");

/** Buttons whose words do not fit, or that stand beyond the window's edge, and whether the page scrolls to the side. */
const unfit = (page: Page) =>
  page.evaluate(() => {
    const root = document.documentElement;
    const clipped = [...document.querySelectorAll<HTMLElement>("button, summary, [role=tab]")].filter(
      (button) => button.checkVisibility() && button.clientWidth > 0 && button.scrollWidth > button.clientWidth,
    );
    const beyond = [...document.querySelectorAll<HTMLElement>("#results button")].filter((button) => {
      const { left, right } = button.getBoundingClientRect();
      return button.checkVisibility() && (left < 0 || right > root.clientWidth);
    });
    return [
      ...beyond.map((button) => `beyond the edge: ${button.textContent}`),
      ...clipped.map((button) => `clipped: ${button.textContent}`),
      ...(root.scrollWidth > root.clientWidth ? [`${root.scrollWidth} pixels wide`] : []),
    ];
  });

/** How many lines the words take. */
const lines = (words: Locator) =>
  words.evaluate((element) => {
    const { lineHeight, paddingTop, paddingBottom } = getComputedStyle(element);
    return Math.round((element.clientHeight - parseFloat(paddingTop) - parseFloat(paddingBottom)) / parseFloat(lineHeight));
  });

/** The left edges of the first and the last character of a text. */
const ends = (text: Locator) =>
  text.evaluate((element) => {
    const range = document.createRange();
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT, (node) => (node.textContent === "" ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT));
    const node = texts.nextNode() ?? element;
    return [0, (node.textContent ?? "").length - 1].map((at) => {
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      return range.getBoundingClientRect().left;
    });
  });

test("words without room would be found", async ({ page }) => {
  await page.setViewportSize({ width: 320, height: 600 });
  await page.setContent(`<button style="width: 40px; overflow: hidden; white-space: nowrap">too long for it</button>
    <div id="results" style="width: 500px"><button style="margin-left: 400px">right</button></div>`);
  expect(await unfit(page)).toEqual(["beyond the edge: right", "clipped: too long for it", expect.stringMatching(/^\d+ pixels wide$/)]);
});

for (const tag of others) {
  const own = words.get(tag) ?? {};
  const direction = tag === "ar" ? "rtl" : "ltr";
  const finished = new RegExp((own["run.finished"] ?? "").replace(/[()]/g, "\\$&").replace("{time}", ".*"));

  for (const width of [320, 800]) {
    // There words have room, from either direction.
    const full = width === 320 || tag === "ar" ? [] : "@full";
    test(`${tag}, ${width} pixels wide`, { tag: full }, async ({ page, service, complaints }) => {
      await page.setViewportSize({ width, height: 600 });
      await page.goto(`${service.url}/embed?lang=python&ui=${tag}`);
      const root = page.locator("html");
      await expect(root).toHaveAttribute("lang", tag);
      await expect(root).toHaveAttribute("dir", direction);
      const run = page.locator("#run");
      await expect(run).toHaveText(own["page.run"] ?? "");
      await expect(page.locator("#menu-button")).toHaveAttribute("aria-controls", "menu");
      await run.click();
      const status = page.locator("#status");
      await expect(status).toHaveText(finished);
      expect(await lines(status), "the usual end").toBe(1);
      await expect(page.locator(".stdout h2")).toHaveText(own["page.output"] ?? "");
      expect(await unfit(page)).toEqual([]);
      // The output of a program stays as it is.
      for (const part of [".cm-content", ".stdout pre"]) await expect(page.locator(part)).toHaveCSS("direction", "ltr");
      await page.locator("#menu-button").click();
      await expect(page.getByRole("menuitem").first()).toHaveText(own["menu.link"] ?? "");
      expect(await unfit(page), "menu").toEqual([]);
      await page.getByRole("menuitem", { name: own["menu.settings"] ?? "", exact: true }).click();
      await expect(page.getByRole("dialog")).toContainText(own["settings.title"] ?? "");
      expect(await unfit(page), "settings").toEqual([]);
      await page.keyboard.press("Escape");
      await page.locator(".cm-content").click();
      await page.keyboard.press("Control+F");
      await expect(page.locator(".cm-search button[name=next]")).toHaveText(own["editor.next"] ?? "");
      expect(await unfit(page), "search").toEqual([]);
      // The field stands before the button in the order of the language.
      const edges = await page.locator(".cm-search").evaluate((panel, isMirrored) => {
        const [field, next] = ["[name=search]", "[name=next]"].map((name) => panel.querySelector(name)?.getBoundingClientRect());
        return field && next && (isMirrored ? field.left - next.right : next.left - field.right);
      }, direction === "rtl");
      expect(edges, "the gap behind the field").toBeGreaterThan(4);
      await replaceCode(page.locator(".cm-content"), "import os\nos.kill(os.getpid(), 11)");
      await run.click();
      await expect(status).toContainText("SIGSEGV");
      expect(await status.evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight), "cut").toBeLessThanOrEqual(1);
      // The longest of the names has no effect on the page's width.
      await page.goto(`${service.url}/editor?lang=python&languages=python,web&ui=${tag}`);
      await expect(page.locator("#language")).toBeVisible();
      expect(await unfit(page), "the list of languages").toEqual([]);
      expect(complaints).toEqual([]);
    });
  }

  test(`${tag}: a preview and its frame, a dialog and a notice`, async ({ page, service }) => {
    const html = "<!doctype html><title>A</title><a href='https://a.example' onclick='console.error(1); console.warn(1)'>Away</a>";
    await page.setViewportSize({ width: 320, height: 900 });
    await page.goto(`${service.url}/embed?ui=${tag}&run=load&${withFiles("lang=web", { "index.html": html })}`);
    await expect(page.locator(".console h2")).toHaveText(own["console.title"] ?? "");
    const shown = page.frameLocator(".preview iframe").frameLocator("iframe");
    await expect(shown.getByText("Away")).toBeVisible();
    expect(await unfit(page)).toEqual([]);
    await shown.getByText("Away").click();
    const said = (own["frame.not-opened"] ?? "").split("{address}");
    for (const part of said) await expect(page.locator(".console-log")).toContainText(part.trim());
    expect(await unfit(page)).toEqual([]);
    const count = page.locator(".console-bar .quiet-words");
    await expect(count).not.toBeEmpty();
    expect(await lines(count), "the count").toBe(1);
    await page.locator("#menu-button").click();
    await page.getByRole("menuitem", { name: own["menu.embed"] ?? "" }).click();
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error("refused"));
      document.execCommand = () => false;
    });
    await page.getByRole("dialog").getByRole("button", { name: own["output.copy"] ?? "", exact: true }).click();
    const hint = page.locator(".copy-result");
    await expect(hint).toHaveText(own["dialogs.copy-by-hand"] ?? "");
    expect((await hint.boundingBox())?.width, "the width of the hint").toBeGreaterThan(160);
    await page.keyboard.press("Escape");
    // A notice leaves the bar in view, however little of the code is.
    await page.setViewportSize({ width: 320, height: 480 });
    await page.keyboard.press("Control+S");
    const notice = page.locator(".notice");
    await expect(notice).toContainText(own["start.kept"] ?? "");
    const [shownAt, code] = await Promise.all([notice.boundingBox(), page.locator("#code").boundingBox()]);
    expect(shownAt?.y, "the notice's top").toBeGreaterThanOrEqual(code?.y ?? Infinity);
    await notice.getByRole("button", { name: own["start.close"] ?? "" }).click();
    // A person who searches sees where.
    await page.setViewportSize({ width: 320, height: 568 });
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+F");
    await expect(page.locator(".cm-search")).toBeVisible();
    const inView = await page.locator(".cm-scroller").boundingBox();
    expect(inView?.height).toBeGreaterThanOrEqual(40);
  });
}

test.describe("by the browser's preference", () => {
  test.use({ locale: "es-MX" });

  test("unless the author decides", async ({ page, service }) => {
    for (const [query, expected] of [["", "es"], ["&ui=fr", "fr"], ["&ui=tlh", "es"], ["&ui=en", "en"]] as const) {
      const answer = await page.goto(`${service.url}/embed?lang=python${query}`);
      await expect(page.locator("html"), query).toHaveAttribute("lang", expected);
      expect(answer?.headers()["vary"]).toContain("accept-language");
    }
  });

  test("also in a frame of embed.js", async ({ page, service }) => {
    const frame = await embed(page, service, "lang=python");
    await expect(frame.locator("#run")).toHaveText(words.get("es")?.["page.run"] ?? "");
    await page.goto(service.hostPage(`<pre data-lang="python" data-ui="de">1</pre><script src="${service.url}/embed.js"></script>`));
    await expect(page.frameLocator("iframe").locator("#run")).toHaveText(words.get("de")?.["page.run"] ?? "");
  });
});

test.describe("from right to left", () => {
  test.use({ bypassCSP: true });

  test("axe finds no fault", async ({ page, service }) => {
    await page.goto(`${service.url}/embed?lang=python&ui=ar`);
    await replaceCode(page.locator(".cm-content"), "name = input()\n");
    await page.locator("#run").click();
    await expect(page.locator(".stderr")).toBeVisible();
    expect(await faults(page.mainFrame())).toEqual([]);
  });

  test("signs and names are not mirrored", async ({ page, service }) => {
    await page.setViewportSize({ width: 800, height: 600 });
    await page.goto(`${service.url}/embed?ui=ar&lang=cpp`);
    await expect(page.locator("#symbols")).toHaveCSS("direction", "ltr");
    // Of "C++" the letter stands at the left.
    const [letter, sign] = await ends(page.locator(".bar h1"));
    expect(letter).toBeLessThan(sign ?? 0);
  });

  test("a sentence of a program begins as it is written, also in a page of the other direction", async ({ page, service }) => {
    const html = "<!doctype html><script>console.log('مرحبا!')</script>";
    await page.goto(`${service.url}/embed?ui=en&run=load&${withFiles("lang=web", { "index.html": html })}`);
    const [first, last] = await ends(page.locator(".console-log .words"));
    expect(last).toBeLessThan(first ?? 0);
  });

  test("tabs and dividers are mirrored, and their keys with them", async ({ page, service }) => {
    await page.setViewportSize({ width: 1000, height: 600 });
    await page.goto(`${service.url}/embed?ui=ar&${withFiles("lang=python", { "main.py": "1", "b.py": "2" })}`);
    const middle = async (selector: string) => {
      const box = await page.locator(selector).boundingBox();
      return (box?.x ?? 0) + (box?.width ?? 0) / 2;
    };
    expect(await middle("#left")).toBeGreaterThan(await middle("#results"));
    expect(await middle("h1")).toBeGreaterThan(await middle("#run"));
    const tabs = page.getByRole("tab");
    await tabs.first().focus();
    await page.keyboard.press("ArrowLeft");
    await expect(tabs.last()).toBeFocused();
    await expect(tabs.last()).toHaveAttribute("aria-selected", "true");
    expect(await middle('[data-path="b.py"]')).toBeLessThan(await middle('[data-path="main.py"]'));

    const divider = page.locator(".divider");
    const share = async () => Number(await divider.getAttribute("aria-valuenow"));
    const before = await share();
    await divider.press("ArrowLeft");
    await expect.poll(share).toBe(before + 2);
    const box = await divider.boundingBox();
    await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) / 2, 300);
    await page.mouse.down();
    await page.mouse.move(700, 300);
    await page.mouse.up();
    await expect.poll(share).toBe(30);
  });
});
