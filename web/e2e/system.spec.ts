// Settings of the reader's system: its own colours, less motion, and paper.

import type { Locator, Page } from "@playwright/test";

import { contrast, type Colour } from "../src/output/colours";
import { ended, expect, heldRuns, test } from "./service";
import { replaceCode } from "./typing";

/** A page that shows everything at once: marks, both streams, a pointed line, a selection. */
async function full(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/embed?lang=python`);
  await replaceCode(page.locator(".cm-content"), "print('out')\nprint(missing)\n");
  await page.locator("#run").click();
  expect(await ended(page.mainFrame())).toContain("exit code 1");
  await expect(page.locator(".cm-lint-marker-error")).toBeVisible();
}

const look = (element: Locator, names: readonly string[], pseudo?: string) =>
  element.first().evaluate(
    (element, { names, pseudo }) => {
      const style = getComputedStyle(element, pseudo);
      return names.map((name) => style.getPropertyValue(name));
    },
    { names, pseudo },
  );

/** The smallest contrast of an element, and of those in it, with what is behind. */
async function contrastOf(element: Locator): Promise<number> {
  const parts = await element.evaluate((whole) =>
    [whole, ...whole.querySelectorAll("*")].map((part) => {
      const layers: string[] = [];
      for (let at: Element | null = part; at !== null; at = at.parentElement) layers.unshift(getComputedStyle(at).backgroundColor);
      return { text: getComputedStyle(part).color, layers };
    }),
  );
  return Math.min(...parts.map(({ text, layers }) => contrast(painted([...layers, text]), painted(layers))));
}

/** One colour painted over the other. The first one that hides all below, as that of the page, makes the start irrelevant. */
function painted(layers: readonly string[]): Colour {
  return layers.reduce(
    (below, layer) => {
      const [red = 0, green = 0, blue = 0, alpha = 1] = (layer.match(/[\d.]+/g) ?? []).map(Number);
      const over = (above: number, under: number) => above * alpha + under * (1 - alpha);
      return { red: over(red, below.red), green: over(green, below.green), blue: over(blue, below.blue) };
    },
    { red: 0, green: 0, blue: 0 },
  );
}

// The system's colours take the place of both themes: by default each test is done in one of them.
for (const colorScheme of ["light", "dark"] as const) {
  const tagIn = (theme: string) => (colorScheme === theme ? [] : "@full");
  test.describe(`forced colours, ${colorScheme}`, () => {
    test.use({ colorScheme, contextOptions: { forcedColors: "active" } });

    test("focus, selection, errors and buttons are visible", { tag: tagIn("dark") }, async ({ page, service }) => {
      await full(page, service.url);
      const width = async (selector: string, property: string, pseudo?: string) =>
        parseFloat((await look(page.locator(selector), [property], pseudo))[0] ?? "");
      // Buttons have edges, the streams and the marks differ by more than colour.
      for (const button of ["#run", "#menu-button", "#add-file", ".tool"]) {
        expect(await width(button, "border-top-width"), button).toBeGreaterThanOrEqual(1);
      }
      expect(await width(".stderr pre", "border-left-width")).toBeGreaterThanOrEqual(3);
      expect(await width(".stdout pre", "border-left-width")).toBe(0);
      expect(await width(".cm-lint-marker-error", "width")).toBeGreaterThanOrEqual(8);
      const [mark] = await look(page.locator(".cm-lint-marker-error"), ["background-color"]);
      expect([mark]).not.toEqual(await look(page.locator(".cm-gutter-lint"), ["background-color"]));
      const colours = ["background-color", "color", "border-bottom-color"];
      const selected = await look(page.locator('.tab[aria-selected="true"]'), colours);
      expect(selected).not.toEqual(await look(page.locator('.tab[aria-selected="false"]'), colours));
      // The focus, of the code and of a button.
      await page.locator(".cm-content").focus();
      expect(await width("#code", "border-top-width", "::after")).toBeGreaterThanOrEqual(2);
      await page.keyboard.press("Shift+F6");
      const [style, ring] = await look(page.locator(".tab:focus"), ["outline-style", "outline-width"]);
      expect(style).not.toBe("none");
      expect(parseFloat(ring ?? "")).toBeGreaterThanOrEqual(2);
      // The selection in the code has the system's own colours.
      await page.locator(".cm-content").focus();
      await page.keyboard.press("Control+A");
      const system = await page.evaluate(() => {
        document.body.style.setProperty("forced-color-adjust", "none");
        document.body.style.setProperty("background-color", "Highlight");
        const { backgroundColor } = getComputedStyle(document.body);
        document.body.removeAttribute("style");
        return backgroundColor;
      });
      expect(await look(page.locator(".cm-line"), ["background-color"], "::selection")).toEqual([system]);
    });

    test("each button that is pressed looks like the chosen tab, and can be read", { tag: tagIn("light") }, async ({
      page, service,
    }) => {
      const colours = ["background-color", "color"];
      const pressed: (string | null)[] = [];
      for (const language of ["web", "mysql"]) {
        await page.goto(`${service.url}/embed?lang=${language}&run=load`);
        await expect(page.locator("#status")).toHaveText(/^Finished/);
        const tab = page.locator('.tab[aria-selected="true"]');
        expect(await contrastOf(tab), "the tab").toBeGreaterThanOrEqual(4.5);
        const chosen = await look(tab, colours);
        for (const button of await page.locator("[aria-pressed]:visible").all()) {
          const name = await button.textContent();
          // The pointer stays on it.
          await button.click();
          await expect(button, `${name}`).toHaveAttribute("aria-pressed", "true");
          expect(await look(button, colours), `${name}`).toEqual(chosen);
          expect(await contrastOf(button), `${name}`).toBeGreaterThanOrEqual(4.5);
          pressed.push(name);
        }
      }
      expect(pressed).toEqual(["320", "768", "Full", "Dark background", "All", "Warnings", "Errors", "Wrap", "Plain text"]);
    });
  });
}

test("reduced motion shows no motion", async ({ page, service }) => {
  const moving = async () => {
    await page.goto(`${service.url}/embed?lang=web`);
    // A run of milliseconds would be over before anybody looks.
    const release = await heldRuns(page);
    await page.locator(".cm-content").focus();
    await page.keyboard.press("Control+Enter");
    await expect(page.locator("#run-label")).toHaveText("Stop");
    const early = await page.evaluate(() => document.getAnimations().length);
    release();
    expect(await ended(page.mainFrame())).toContain("Finished");
    return Math.max(early, await page.evaluate(() => document.getAnimations().length));
  };
  // Without that setting the cursor blinks.
  expect(await moving()).toBeGreaterThan(0);
  await page.emulateMedia({ reducedMotion: "reduce" });
  expect(await moving()).toBe(0);
});

test("on paper, before a run: the code alone", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python`);
  await page.locator(".cm-content").waitFor();
  await page.emulateMedia({ media: "print" });
  await expect(page.locator(".cm-content")).toBeVisible();
  for (const part of [".invitation", ".keys"]) await expect(page.locator(part), part).toBeHidden();
});

test("on paper: all of the code and of the output, dark on white, and no buttons", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python&theme=dark`);
  const code = Array.from({ length: 120 }, (_, line) => `print(${line})`).join("\n");
  await replaceCode(page.locator(".cm-content"), code);
  await page.locator("#run").click();
  expect(await ended(page.mainFrame())).toContain("Finished");
  await page.emulateMedia({ media: "print" });
  for (const part of ["#run", "#menu-button", "#add-file", ".keys", ".output-tools", "#symbols"]) {
    await expect(page.locator(part), part).toBeHidden();
  }
  await expect(page.getByRole("tab", { selected: true })).toBeVisible();
  const paper = await page.evaluate(() => {
    const bright = (colour: string) => Math.max(...(colour.match(/\d+/g) ?? []).slice(0, 3).map(Number));
    const { color, backgroundColor } = getComputedStyle(document.body);
    const cut = [...document.querySelectorAll("#code, .cm-scroller, #left, #results, main, .stdout pre")].filter(
      (box) => box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1,
    );
    return { ink: bright(color) < 100, page: bright(backgroundColor) > 240, cut: cut.map(({ id, className }) => id || className) };
  });
  expect(paper).toEqual({ ink: true, page: true, cut: [] });
  // The code comes first, then what it wrote, on as many pages as they need.
  const heights = await page.evaluate(() => {
    const bottom = (selector: string) => document.querySelector(selector)?.getBoundingClientRect().bottom ?? 0;
    return { code: bottom("#code"), output: bottom(".stdout pre"), first: document.querySelector("#results")?.getBoundingClientRect().top ?? 0 };
  });
  expect(heights.code).toBeGreaterThan(2000);
  expect(heights.first).toBeGreaterThanOrEqual(heights.code);
  expect(heights.output).toBeGreaterThan(4000);
  const pages = (await page.pdf()).toString("latin1").match(/\/Type\s*\/Page\b/g) ?? [];
  expect(pages.length).toBeGreaterThan(3);
});
