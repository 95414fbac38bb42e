// Long output: the page stays responsive, says how much is hidden, and shows and
// copies all of it on request.

import { readFileSync } from "node:fs";

import { FULL, expect, stopClock, test } from "./service";
import { replaceCode } from "./typing";

/** More elements than this in the output, and pages become slow. */
const ELEMENTS = 50_000;

const programs: readonly [what: string, code: string, text: string, left: RegExp | null][] = [
  [
    "many lines",
    "print(*range(150_000), sep='\\n')",
    Array.from({ length: 150_000 }, (_, n) => `${n}\n`).join(""),
    /145,000 lines/,
  ],
  ["one line", "print('x' * 1_000_000)", `${"x".repeat(1_000_000)}\n`, /more characters in this line/],
  [
    "colours",
    "for n in range(20_000): print(f'\\x1b[3{n % 8}m{n}\\x1b[1m!\\x1b[0m?')",
    Array.from({ length: 20_000 }, (_, n) => `${n}!?\n`).join(""),
    /lines/,
  ],
  ["colours in one line", "print('\\x1b[31ma\\x1b[32mb' * 80_000)", `${"ab".repeat(80_000)}\n`, null],
  ["a count in its place", "for n in range(100_000): print(f'\\r{n} %', end='')\nprint()", "99999 %\n", null],
];

/** By default many lines, and many elements in one; tests/ansi.test.ts has how each text is cut. */
const ALWAYS: readonly string[] = ["many lines", "colours in one line"];

test("long output is shown in part, and kept whole", async ({ page, service, complaints }) => {
  await page.goto(`${service.url}/embed?lang=python`);
  const editor = page.locator(".cm-content");
  for (const [what, code, text, left] of programs.filter(([what]) => FULL || ALWAYS.includes(what))) {
    await replaceCode(editor, code);
    await page.locator("#run").click();
    await expect(page.locator("#status"), what).toContainText("Finished");
    expect(await page.locator("#streams *").count()).toBeLessThan(ELEMENTS);
    if (left !== null) await expect(page.locator("#streams")).toContainText(left);
    // The editor still accepts typing.
    await replaceCode(editor, "# typed after it");
    await expect(editor).toHaveText("# typed after it");
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save" }).click();
    expect(readFileSync(await (await download).path(), "utf8") === text, what).toBe(true);
    // The next one is known by its own output.
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    await expect(page.locator("#status"), what).not.toContainText("Finished");
  }
  expect(complaints).toEqual([]);
});

test("the hidden part is shown step by step; copying takes all", async ({ page, service, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.clock.install();
  await page.goto(`${service.url}/embed?lang=python`);
  await replaceCode(page.locator(".cm-content"), "print(*range(12_000), sep='\\n')");
  await page.locator("#run").click();
  const shown = page.locator(".stdout");
  await expect(shown).toContainText("7,000 lines");
  await expect(shown).not.toContainText("6543");
  await shown.getByRole("button", { name: "Show more" }).click();
  await expect(shown).toContainText("6543");
  await expect(shown).toContainText("2,000 lines");
  await shown.getByRole("button", { name: "Show more" }).click();
  await expect(shown.getByRole("button", { name: "Show more" })).toHaveCount(0);
  // "Copied" stands for a moment alone.
  await stopClock(page);
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await expect(page.getByRole("button", { name: "Copied" })).toBeVisible();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied === Array.from({ length: 12_000 }, (_, n) => `${n}\n`).join("")).toBe(true);
});

test("long lines are broken only if that is asked for", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python`);
  await replaceCode(page.locator(".cm-content"), "print('word ' * 500)");
  await page.locator("#run").click();
  const lines = page.locator(".stdout pre");
  const height = () => lines.evaluate((box) => box.getBoundingClientRect().height);
  await expect(lines).toBeVisible();
  const whole = await height();
  expect(await lines.evaluate((box) => box.scrollWidth > box.clientWidth)).toBe(true);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  await page.getByRole("button", { name: "Wrap" }).click();
  expect(await height()).toBeGreaterThan(2 * whole);
  expect(await lines.evaluate((box) => box.scrollWidth > box.clientWidth)).toBe(false);
  await page.getByRole("button", { name: "Wrap" }).click();
  expect(await height()).toBe(whole);
});

const ENDS: readonly (readonly [state: string, code: string, spoken: RegExp])[] = [
  ["ok", "print('a\\nb')", /^Finished in [\d.]+ s, 2 lines of output$/],
  ["ok", "", /^Finished in [\d.]+ s, no output$/],
  ["failed", "print(1)\nprint(missing)", /^Failed with exit code 1 \([\d.]+ s\): NameError: name 'missing' is not defined/],
  ["crash", "import os\nos.abort()", /^Crashed after [\d.]+ s: uncaught exception or abort\(\) \(SIGABRT\)/],
  ["limit", "while True: print('more')", /^Too much output: .*, output truncated.*: Output limit exceeded: 1 MiB$/],
];

test("each end has its icon and its words, in one row, and says more to those who listen", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python`);
  const bar = page.locator("#outcome");
  // tests/words.test.ts has the words and the icon of each end.
  for (const [state, code, spoken] of ENDS.filter(([state]) => FULL || ["ok", "limit"].includes(state))) {
    await replaceCode(page.locator(".cm-content"), code);
    await page.locator("#run").click();
    await expect(page.locator("#status")).toHaveText(spoken);
    await expect(bar).toHaveAttribute("data-state", state);
    for (const width of [320, 1000]) {
      await page.setViewportSize({ width, height: 600 });
      await expect(bar.locator(":scope > .icon")).toBeVisible();
      await expect.poll(async () => (await bar.boundingBox())?.height, { message: `${state}, ${width}` }).toBeLessThanOrEqual(40);
      expect(await page.locator("#results").evaluate((box) => box.scrollWidth <= box.clientWidth)).toBe(true);
    }
  }
  await expect(page.locator(".stderr")).toContainText("Output limit exceeded: 1 MiB");
});
