// Files that a page in the preview would download: the editor offers to save them.

import type { Page } from "@playwright/test";
import { readFileSync } from "node:fs";

import { apart } from "./chromium";
import { lines, shown, withFiles } from "./documents";
import { expect, stopClock, test, type Service } from "./service";

test.use({ launchOptions: apart });

const SAVE = `function save(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text]));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}`;

async function run(page: Page, service: Service, body: string, script = ""): Promise<void> {
  const html = `<!doctype html>${body}<script>${SAVE}${script}; console.log("ready")</script>`;
  await page.goto(`${service.url}/embed?${withFiles("lang=web&run=load", { "index.html": html, "data.csv": "a,b\n1,2\n" })}`);
  await expect(lines(page.mainFrame()).first()).toContainText("ready");
}

const offer = (page: Page) => page.locator(".preview-offer");

test("a file is saved when the person says so", async ({ page, service }) => {
  const body = `<a href="data.csv" download>file</a><a href="data:text/html,<p>hi" download="../x.html">data</a>
    <button onclick="save('notes.txt', 'by script')">script</button><a href="none.csv" download>none</a>`;
  await page.clock.install();
  await run(page, service, body);
  for (const [label, name, content] of [
    ["file", "data.csv", "a,b\n1,2\n"], ["data", "x.html", "<p>hi"], ["script", "notes.txt", "by script"],
  ] as const) {
    await shown(page.mainFrame()).getByText(label, { exact: true }).click();
    await expect(offer(page)).toContainText(`Save ${name}?`);
    // In its first second it takes no click.
    await page.clock.runFor(1000);
    const saved = page.waitForEvent("download");
    await offer(page).getByRole("button", { name: "Save" }).click();
    expect((await saved).suggestedFilename()).toBe(name);
    expect(readFileSync(await (await saved).path(), "utf8")).toBe(content);
    await expect(offer(page)).toBeEmpty();
  }
  await shown(page.mainFrame()).getByText("none").click();
  await expect(lines(page.mainFrame()).last()).toContainText("Not saved: none.csv. The program has no such file.");
});

test("an offer takes no click in its first second, each time", async ({ page, service }) => {
  await page.clock.install();
  await run(page, service, `<p onclick="save(++times + '.txt', 'x')">again</p>`, "let times = 0;");
  await stopClock(page);
  for (const time of [1, 2]) {
    await shown(page.mainFrame()).locator("p").click();
    const save = offer(page).getByRole("button", { name: "Save" });
    // The offer before is as disabled as the one that the clock must not run ahead of.
    await expect(offer(page)).toContainText(`Save ${time}.txt?`);
    await page.clock.runFor(999);
    await expect(save).toBeDisabled();
    if (time === 2) await page.clock.runFor(1), await expect(save).toBeEnabled();
  }
});

test("a dismissed file, or any, is not offered until the page is loaded again", async ({ page, service }) => {
  await run(page, service, `<b onclick="save('x.txt', 'x')">x</b><i onclick="save('y.txt', 'y')">y</i>`);
  // Without the pointer, which nobody has at two places in the same moment.
  const press = (name: string) => offer(page).getByRole("button", { name, exact: true }).dispatchEvent("click");
  const ask = async (tag: "b" | "i", isOffered: boolean) => {
    await shown(page.mainFrame()).locator(tag).click();
    if (isOffered) await expect(offer(page)).toContainText("Save");
    else await expect(lines(page.mainFrame()).last()).toContainText("You dismissed it");
  };
  await ask("b", true);
  await expect(offer(page).getByText("Do not ask again")).toHaveCount(0);
  await press("Dismiss");
  await ask("b", false);
  await ask("i", true);
  await press("Do not ask again");
  await page.locator(".console").getByRole("button", { name: "Clear" }).dispatchEvent("click");
  await ask("i", false);
  await page.getByRole("button", { name: "Reload" }).dispatchEvent("click");
  await ask("b", true);
  await press("Dismiss");
  await ask("b", false);
  await page.locator("#run").dispatchEvent("click");
  await expect(lines(page.mainFrame())).toHaveText([/ready/]);
  await ask("b", true);
});
