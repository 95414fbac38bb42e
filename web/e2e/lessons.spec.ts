// The page of a lesson: hidden and locked files, locked lines, the expected output,
// formatting, and what there is to know about a language.

import type { Frame, Page } from "@playwright/test";

import { faultsInThemes } from "./accessibility";
import { editorIn, ended, expect, kept, test, type Service } from "./service";

/** The time between two keys of a person. */
const PACE = { delay: 100 };

const LESSON = `<div data-lang="python" data-entry="check.py" data-autosave="lesson">
<pre data-file="area.py" data-locked="1-2,4-">
from units import FACTOR
def area(width, height):
    pass
# end of the exercise</pre>
<pre data-file="units.py" data-locked>FACTOR = 2</pre>
<pre data-file="check.py" data-hidden>
from area import area
print(area(2, 3))</pre>
<pre data-expected>12</pre></div>`;

async function lesson(page: Page, service: Service, html = LESSON): Promise<Frame> {
  await page.goto(service.hostPage(`${html}<script src="${service.url}/embed.js"></script>`));
  return editorIn(page);
}

/** The rows of the difference. */
const difference = (frame: Frame) =>
  frame.locator(".difference tr").evaluateAll((rows) =>
    rows.map((row) => [...row.children].map((cell) => cell.textContent).join(" ")),
  );

/** Listens to the editor's announcements, which CodeMirror takes away again after 200 ms. */
async function listening(frame: Frame): Promise<() => Promise<(string | null)[]>> {
  const heard = await frame.locator(".cm-announced").evaluateHandle((announced) => {
    const texts: (string | null)[] = [];
    new MutationObserver(() => void texts.push(announced.textContent)).observe(announced, { childList: true });
    return texts;
  });
  return () => heard.jsonValue();
}

const code = (frame: Frame) => frame.locator(".cm-line").allTextContents();

test("an exercise by keyboard alone, at a person's speed", async ({ page, service, complaints }) => {
  const frame = await lesson(page, service);
  expect(await frame.getByRole("tab").allTextContents()).toEqual(["area.py", "units.py (locked)"]);
  await expect(frame.getByRole("textbox")).toHaveAccessibleDescription(/Locked lines: 1 to 2 and 4 to the end\.$/);
  await frame.locator('[data-path="area.py"]').focus();
  // A locked file.
  await page.keyboard.press("ArrowRight");
  await expect(frame.locator("#keys")).toHaveText("This file is locked: you cannot change it.");
  await page.keyboard.press("F2");
  await expect(frame.locator(".notice")).toContainText("units.py is locked: it cannot be renamed or deleted.");
  await page.keyboard.press("F6");
  await page.keyboard.type("x", PACE);
  expect(await code(frame)).toEqual(["FACTOR = 2", ""]);
  await page.keyboard.press("Shift+F6");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("F6");
  // Locked lines: everything that would change them is refused.
  const before = await code(frame);
  for (const key of ["x", "Enter", "Delete", "Control+A", "Backspace", "Control+V", "y"]) await page.keyboard.press(key, PACE);
  expect(await code(frame)).toEqual(before);
  await expect(frame.locator(".notice")).toContainText("Locked lines cannot be changed.");
  await page.keyboard.press("Control+Enter");
  expect(await ended(frame)).toMatch(/^Differs from the expected output .*: line 1 differs$/);
  // Its code is loaded when a difference is to be shown.
  await expect.poll(() => difference(frame)).toEqual(["-expected 12", "+yours None"]);
  // The line that is free.
  await page.keyboard.press("Control+Home");
  for (const key of ["ArrowDown", "ArrowDown", "End"]) await page.keyboard.press(key, PACE);
  const announced = await listening(frame);
  await page.keyboard.press("ArrowUp", PACE);
  await expect.poll(announced).toContain("Locked line");
  await page.keyboard.press("ArrowDown", PACE);
  await page.keyboard.press("End");
  for (let count = 0; count < "pass".length; count++) await page.keyboard.press("Backspace", PACE);
  await page.keyboard.type("size = width * height\nreturn size * FACTOR", PACE);
  const after = ["from units import FACTOR", "def area(width, height):", "    size = width * height", "    return size * FACTOR", "# end of the exercise", ""];
  expect(await code(frame)).toEqual(after);
  await expect(frame.getByRole("textbox")).toHaveAccessibleDescription(/Locked lines: 1 to 2 and 5 to the end\.$/);
  await page.keyboard.press("Control+Enter");
  expect(await ended(frame)).toContain("Matches the expected output");
  await expect(frame.locator(".stdout pre")).toHaveText("12\n");
  await page.keyboard.press("Control+Z");
  expect(await code(frame)).not.toEqual(after);
  await page.keyboard.press("Control+Y");
  expect(await code(frame)).toEqual(after);
  expect(complaints).toEqual([]);
});

test("Reset restores the exercise; a changed one keeps the reader's part", async ({ page, service }) => {
  let frame = await lesson(page, service);
  await frame.locator(".cm-line").nth(2).click();
  await page.keyboard.press("End");
  await page.keyboard.type("  # mine");
  await kept(frame, "# mine");
  const changed = LESSON.replace("# end of the exercise", "# the end\n# of it").replace("def area(width", "def area(w");
  frame = await lesson(page, service, changed);
  const restored = ["from units import FACTOR", "def area(w, height):", "    pass  # mine", "# the end", "# of it", ""];
  await frame.getByRole("button", { name: "Restore my edits" }).click();
  expect(await code(frame)).toEqual(restored);
  await frame.locator("#menu-button").click();
  await frame.getByRole("menuitem", { name: "Reset" }).click();
  expect(await code(frame)).toEqual(restored.map((line) => line.replace("  # mine", "")));
  await frame.locator(".cm-line").last().click();
  await page.keyboard.type("x");
  await expect(frame.locator(".notice")).toContainText("Locked lines cannot be changed.");
});

test.describe(() => {
  test.use({ bypassCSP: true });

  test("axe finds no fault, in both themes", async ({ page, service }) => {
    const frame = await lesson(page, service);
    await expect(frame.locator(".cm-locked-line")).toHaveCount(4);
    await frame.locator("#run").click();
    await expect(frame.locator(".difference")).toBeVisible();
    expect(await faultsInThemes(frame)).toEqual([]);
    await frame.locator("#menu-button").click();
    await frame.getByRole("menuitem", { name: "About Python…" }).click();
    await expect(frame.getByRole("dialog", { name: /^About Python 3\.\d+$/ })).toContainText("NumPy");
    expect(await faultsInThemes(frame), "about").toEqual([]);
  });
});

test("the difference needs no scrolling to the side at 320 pixels", async ({ page, service }) => {
  await page.setViewportSize({ width: 320, height: 600 });
  const code = { files: [{ content: 'print("a b ")\nprint("word " * 40)' }], expected: `a  b\n${"word ".repeat(41)}` };
  await page.goto(`${service.url}/embed?lang=python#json=${encodeURIComponent(JSON.stringify(code))}`);
  await page.locator("#run").click();
  await expect(page.locator(".difference tr")).toHaveCount(4);
  await expect(page.locator(".difference .own td").first()).toHaveText("a b·, 1 blank at the end");
  const { scrollWidth, clientWidth } = await page.locator(".right").evaluate(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }));
  expect(scrollWidth).toBe(clientWidth);
});

test("formatting is one step, says where it fails, and leaves locked lines alone", async ({ page, service, complaints }) => {
  const open = async (file: object) => {
    await page.goto("about:blank");
    const code = { files: [{ path: "a.js", ...file }] };
    await page.goto(`${service.url}/embed?lang=web&autosave=off#json=${encodeURIComponent(JSON.stringify(code))}`);
  };
  const lines = () => page.locator(".cm-line").allTextContents();
  const formatted = async (words: string) => {
    await page.locator(".cm-content").focus();
    await page.keyboard.press("Shift+Alt+F");
    await expect(page.locator(".notice")).toContainText(words);
  };
  await open({ content: "let a  = 1;\nlet b  = 2;\n" });
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Control+End");
  await formatted("The file was formatted.");
  expect(await lines()).toEqual(["let a = 1;", "let b = 2;", ""]);
  await page.keyboard.type("b");
  expect(await lines()).toEqual(["let a = 1;", "let b = 2;", "b"]);
  await page.keyboard.press("Control+Z");
  await page.keyboard.press("Control+Z");
  expect(await lines()).toEqual(["let a  = 1;", "let b  = 2;", ""]);
  await page.keyboard.press("Control+End");
  await page.keyboard.type("= = c");
  await formatted("Not formatted: syntax error in line 3.");
  await expect(page.locator(".cm-lint-marker-error")).toBeVisible();
  await open({ content: "let a  = 1;\nlet b  = 2;\n", locked: "1" });
  await formatted("Not formatted: locked lines would change.");
  await open({ content: "let a = 1;\nlet b  = 2;\n", locked: "1" });
  await formatted("The file was formatted.");
  expect(await lines()).toEqual(["let a = 1;", "let b = 2;", ""]);
  expect(complaints).toEqual([]);
});

test("Python is formatted by a run of its own", async ({ page, service }) => {
  const format = async () => {
    await page.locator("#menu-button").click();
    await page.getByRole("menuitem", { name: "Format file" }).click();
  };
  await page.goto(`${service.url}/embed?lang=python&autosave=off`);
  const code = page.locator(".cm-content");
  await code.click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText("x=[ 1,2 ]\nprint( x )\n");
  await page.locator("#run").click();
  await expect(page.locator(".stdout pre")).toHaveText("[1, 2]\n");
  await format();
  await expect(page.locator(".notice")).toContainText("The file was formatted.");
  await expect(page.locator(".cm-line")).toHaveText(["x = [1, 2]", "print(x)", ""]);
  // The output is that of the reader's own run.
  await expect(page.locator(".stdout pre")).toHaveText("[1, 2]\n");
  await code.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText("if x\n");
  await format();
  await expect(page.locator(".notice")).toContainText("Not formatted: syntax error in line 3.");
  await expect(page.locator(".cm-lint-marker-error")).toBeVisible();
  // A file with the name of the formatter's module takes no part in it.
  const files = [{ path: "autopep8.py", content: "def fix_code(source):\n  return 'forged'\n" }];
  await page.goto("about:blank");
  await page.goto(`${service.url}/embed?lang=python&autosave=off#json=${encodeURIComponent(JSON.stringify({ files }))}`);
  await format();
  await expect(page.locator(".notice")).toContainText("The file was formatted.");
  await expect(page.locator(".cm-line")).toHaveText(["def fix_code(source):", "    return 'forged'", ""]);
});
