// Completion in the browser, which CSS asks for its properties. The words of
// each language are in tests/completion.test.ts.

import { embed, expect, test } from "./service";

const CASES = [
  ["web", "style.css", "p { colo", "color"],
  ["vue", "App.vue", "<style>\np { colo", "color"],
  ["java", "Main.java", "pub", "public"],
  ["csharp", "Program.cs", "fore", "foreach"],
  ["mongodb", "main.js", "db.books.findO", "findOne"],
] as const;

for (const [language, path, typed, word] of CASES) {
  test(`${language}: ${typed} is completed to ${word}`, async ({ page, service }) => {
    await page.clock.install();
    const frame = await embed(page, service, `lang=${language}`);
    await frame.getByRole("tab", { name: path }).click();
    const code = frame.locator(".cm-content");
    await code.click();
    await page.keyboard.press("Control+A");
    await page.keyboard.press("Delete");
    await page.keyboard.type(typed);
    const offered = frame.getByRole("listbox", { name: "Completions" });
    await expect(offered.getByRole("option", { name: word, exact: true })).toHaveCount(1);
    await expect(offered.getByRole("option", { selected: true })).toHaveText(word);
    // For its first 75 ms Enter still begins a line.
    await page.clock.fastForward(1000);
    await page.keyboard.press("Enter");
    await expect(code).toContainText(word);
    await expect(offered).toHaveCount(0);
  });
}
