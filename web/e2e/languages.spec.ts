// Every language, framed by a page of another origin.

import { readFileSync } from "node:fs";

import type { Frame, Page } from "@playwright/test";

import { FULL, editorIn, embed, ended, expect, languages, outputs, test, type Service } from "./service";

/** As checked for contrast on the page and on the active line. */
const PALETTE = {
  light: { keyword: "rgb(122, 0, 131)", string: "rgb(143, 42, 0)", tag: "rgb(17, 99, 41)" },
  dark: { keyword: "rgb(215, 166, 255)", string: "rgb(255, 179, 138)", tag: "rgb(126, 231, 135)" },
};

/** A word of the starter, and how a string of it begins, for languages with a grammar. */
const WORDS: Readonly<Record<string, { keyword?: string; tag?: string; string: string }>> = {
  python: { keyword: "import", string: '"""' },
  c: { keyword: "for", string: '"fraction.h"' },
  cpp: { keyword: "for", string: '".#......"' },
  java: { keyword: "public", string: '"%-24s' },
  php: { keyword: "foreach", string: "'goods.php'" },
  csharp: { keyword: "foreach", string: '"Sandpiper"' },
  mysql: { keyword: "INSERT", string: "'Solaris'" },
  mongodb: { keyword: "const", string: "'Solaris'" },
  web: { tag: "meta", string: '"utf-8"' },
  react: { keyword: "import", string: '"react"' },
  vue: { keyword: "import", string: '"vue"' },
};

/** Each kind of result; the starters of all languages are run by other tests. */
const RUN: readonly string[] = FULL ? languages : ["python", "mysql", "web", "vue"];

/** Loads the editor of a language, and looks at it in both themes. */
async function load(page: Page, service: Service, language: string): Promise<Frame> {
  const frame = await embed(page, service, `lang=${language}`);
  await expect(frame.locator("body")).toHaveAttribute("data-language", language);
  // One language: nothing to choose another with, and no link that leads to one.
  const switchers = 'select, datalist, [role="combobox"], [role="listbox"], [role="radiogroup"], a[href*="lang="]';
  expect(await frame.locator(switchers).count()).toBe(0);
  expect(await frame.locator('[role="tab"]').count()).toBeGreaterThan(0);
  // The host page has not lost the focus to the editor.
  expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const [kind, begin] of Object.entries(WORDS[language] ?? {})) {
      const token = frame.locator(".cm-line span", { hasText: begin });
      // The innermost of nested ones.
      await expect(token.last()).toHaveCSS("color", PALETTE[colorScheme][kind as "keyword"]);
    }
  }
  return frame;
}

for (const language of RUN) {
  test(`${language}: loads without a complaint, in its colours, and runs its starter`, async ({ page, service, complaints }) => {
    const frame = await load(page, service, language);
    expect(complaints).toEqual([]);
    await frame.locator("#run").click();
    expect(await ended(frame)).toMatch(/^Finished in/);
    const shows = SHOWS[language] ?? BY_OUTPUT[outputs.get(language) ?? "text"];
    await shows(frame, readFileSync(`../languages/${language}/starter-expected.txt`, "utf8"));
    await expect(frame.locator(".stderr")).toHaveCount(0);
    expect(complaints).toEqual([]);
  });
}

test("the languages that are not run here load without a complaint, in their colours", async ({ page, service, complaints }) => {
  for (const language of languages.filter((one) => !RUN.includes(one))) {
    await test.step(language, async () => {
      await load(page, service, language);
      expect(complaints).toEqual([]);
    });
  }
});

for (const language of languages) {
  // For Python, parent.spec.ts shows it, too.
  test(`${language}: typed text is there after a reload`, { tag: "@full" }, async ({ page, service }) => {
    let frame = await embed(page, service, `lang=${language}`);
    const code = () => frame.locator(".cm-content");
    await code().click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("kept ");
    await expect
      .poll(() => frame.evaluate(() => Object.values(localStorage).some((text) => text.includes('"kept '))))
      .toBe(true);
    await page.reload();
    frame = await editorIn(page);
    await expect(code().locator(".cm-line").first()).toHaveText(/^kept /);
    await expect(frame.locator(".notice")).toContainText("Your edits were restored.");
  });
}

type Shows = (frame: Frame, expected: string) => Promise<void>;

const text: Shows = async (frame, expected) => {
  expect(await frame.locator(".stdout pre").innerText()).toBe(expected);
};

/** Every cell of the tables that the client drew, and after the switch the drawing itself. */
const tables: Shows = async (frame, expected) => {
  const drawn = expected.split("\n").filter((line) => line.startsWith("|"));
  const cells = drawn.map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
  const shown = await frame.locator(".stdout tr").evaluateAll((rows) =>
    rows.map((row) => [...row.querySelectorAll("th, td")].map((cell) => cell.textContent)),
  );
  expect(cells.length).toBeGreaterThan(0);
  expect(shown).toEqual(cells);
  await expect(frame.getByRole("table", { name: /^Result 1: \d+ rows?$/ })).toHaveCount(1);
  await frame.getByRole("button", { name: "Plain text" }).click();
  await expect(frame.locator(".stdout table").first()).toBeHidden();
  expect(await frame.locator(".drawn-tables pre").innerText()).toBe(expected);
};

/** The document in the preview, element by element. */
function inPreview(elements: string): Shows {
  return async (frame) => {
    const page = frame.frameLocator(".preview iframe").frameLocator("iframe");
    await expect(page.locator("body")).toMatchAriaSnapshot(elements);
  };
}

/** A document of a language without an entry in SHOWS. */
const somePage: Shows = async (frame) => {
  await expect(frame.frameLocator(".preview iframe").frameLocator("iframe").locator("body")).not.toBeEmpty();
};

const walks = `
  - main:
    - 'heading "Walks: 3 to go" [level=1]'
    - list:
      - listitem: [checkbox "Along the beach"]
      - listitem: [checkbox "Through the dunes"]
      - listitem: [checkbox "To the lighthouse"]
    - textbox "Another walk"
    - button "Add"
`;

const BY_OUTPUT = { text, tables, document: somePage };

/** The documents of the starters. */
const SHOWS: Readonly<Record<string, Shows>> = {
  web: inPreview(`
    - heading "Tide table" [level=1]
    - text: Spring tide
    - slider "Spring tide": "40"
    - list:
      - listitem: /^2:00, \\d\\.\\d m$/
      - listitem: /^8:00, \\d\\.\\d m$/
      - listitem: /^14:00, \\d\\.\\d m$/
      - listitem: /^20:00, \\d\\.\\d m$/
  `),
  react: inPreview(walks),
  vue: inPreview(walks),
};
