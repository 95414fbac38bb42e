// axe finds no fault: before a run, after it, and with everything open that a
// run with errors and a person can open.

import type { Frame, Page } from "@playwright/test";

import { faults, faultsInThemes } from "./accessibility";
import { shown } from "./documents";
import { embed, ended, expect, languages, outputs, test } from "./service";
import { replaceCode } from "./typing";

/** A file in which the language's tools find an error; in a language with input, one that asks for it. */
const WRONG: Readonly<Record<string, string>> = {
  python: "name = input()\nprint(name)\n",
  c: '#include <stdio.h>\nint main(void) {\n    puts(1);\n    return a;\n}\n',
  cpp: '#include <iostream>\nint main() {\n    std::cuot << "a";\n}\n',
  java: "class Main {\n    void main() {\n        int a = 1\n    }\n}\n",
  php: "<?php\n$a = 1;\necho $b;\nintdiv($a, 0);\n",
  csharp: "using Birds;\nConsole.WriteLine(birds);\n",
  mysql: "SELECT 1 AS one, NULL AS nothing;\nSELECT 'a', 'b';\nSELECT name FROM nowhere;\n",
  mongodb: "db.birds.insertOne({ _id: 1 })\ndb.birds.insertOne({ _id: 1 })\n",
  web: '<!doctype html>\n<script src="scirpt.js"></script>\n',
  react: "export default function App() {\n  return <main>Walks</mian>;\n}\n",
  vue: "<template>\n  <main>\n    <p>Walks</main>\n</template>\n",
};

/** Each kind of result and of errors once; text and input are looked at in the other theme. */
const KINDS: readonly string[] = ["mysql", "web", "react"];

test("a fault would be found", async ({ page }) => {
  await page.setContent('<html lang="en"><title>A</title><main><h1>A</h1><button></button></main>');
  const [fault, ...others] = await faults(page.mainFrame());
  expect(fault).toMatch(/^button-name: button: /);
  expect(others).toEqual([]);
});

for (const theme of ["light", "dark"] as const) {
  test.describe(theme, () => {
    test.use({ colorScheme: theme, bypassCSP: true });

    for (const language of languages) {
      // A theme is colours, which all languages have in common.
      const isTested = theme === "light" ? KINDS.includes(language) : language === "python";
      const tag = isTested ? [] : "@full";
      test(`${language}: loaded, run, and with errors`, { tag }, async ({ page, service }) => {
        await page.goto(`${service.url}/embed?lang=${language}`);
        const frame = page.mainFrame();
        await frame.waitForSelector(".cm-content span");
        expect(await faults(frame), "loaded").toEqual([]);
        await frame.locator("#run").click();
        expect(await ended(frame)).toMatch(/^Finished in/);
        // With the document that it made, which the preview frames.
        if (outputs.get(language) === "document") await expect(shown(frame).locator("body *").first()).toBeVisible();
        for (const part of page.frames()) expect(await faults(part), "run").toEqual([]);
        const wrong = WRONG[language];
        if (wrong === undefined) return;
        await makeWrong(frame, wrong);
        await openAll(page, frame);
        expect(await faults(frame), "errors, all open").toEqual([]);
      });
    }

    // explained.spec.ts and marks.spec.ts look at errors in a frame.
    test("framed by a page of another origin", { tag: "@full" }, async ({ page, service }) => {
      const frame = await embed(page, service, "lang=mysql");
      await makeWrong(frame, WRONG["mysql"] ?? "");
      expect(await faults(frame)).toEqual([]);
    });
  });
}

test.describe("in both themes", () => {
  test.use({ bypassCSP: true });

  test("completions, search and the dialog of the menu", async ({ page, service }) => {
    await page.goto(`${service.url}/embed?lang=c`);
    const look = () => faultsInThemes(page.mainFrame());
    await page.locator(".cm-content").click();
    await page.keyboard.type("ret");
    await expect(page.locator(".cm-tooltip-autocomplete")).toContainText("return");
    expect(await look(), "completions").toEqual([]);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+F");
    await expect(page.locator(".cm-search")).toBeVisible();
    expect(await look(), "search").toEqual([]);
    await page.keyboard.press("Escape");
    await page.locator("#menu-button").click();
    await expect(page.getByRole("menu")).toBeVisible();
    expect(await look(), "menu").toEqual([]);
    await page.getByRole("menuitem", { name: /embed/i }).click();
    await expect(page.getByRole("dialog")).toBeVisible();
    expect(await look(), "dialog").toEqual([]);
  });

  test("the index page, and an unknown language", async ({ page, service }) => {
    for (const path of ["/", "/embed?lang=cobol"]) {
      await page.goto(service.url + path);
      expect(await faultsInThemes(page.mainFrame()), path).toEqual([]);
    }
  });
});

async function makeWrong(frame: Frame, content: string): Promise<void> {
  await frame.locator('[role="tab"]').filter({ hasText: "▸" }).click();
  await replaceCode(frame.locator(".cm-content"), content);
  await frame.locator("#run").click();
  await expect(frame.locator(".stderr")).toBeVisible();
  await expect(frame.locator(".cm-lint-marker").first()).toBeVisible();
}

/** The input box, the times, the words of a mark. */
async function openAll(page: Page, frame: Frame): Promise<void> {
  const input = frame.locator('#input-toggle[aria-expanded="false"]');
  if (await input.isVisible()) await input.click();
  await frame.locator(".times summary").click();
  await frame.locator(".cm-lint-marker").first().hover();
  await expect(frame.locator(".cm-tooltip-lint")).toBeVisible();
  await frame.locator(".cm-content").focus();
  await page.keyboard.press("Control+Shift+M");
  await expect(frame.locator(".cm-panel-lint")).toBeVisible();
}
