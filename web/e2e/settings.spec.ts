// The reader's own settings and the dividers: they win over the page's parameters,
// and are kept if the browser allows it.

import type { Page } from "@playwright/test";

import { faults } from "./accessibility";
import { shown } from "./documents";
import { editorIn, embed, expect, test } from "./service";

const look = (page: Page) =>
  page.evaluate(() => {
    const code = document.querySelector(".cm-content");
    return {
      theme: document.documentElement.dataset["theme"],
      wraps: code?.classList.contains("cm-lineWrapping"),
      size: code === null ? "" : getComputedStyle(code).fontSize,
    };
  });

async function openSettings(page: Page): Promise<void> {
  await page.locator("#menu-button[aria-controls]").click();
  await page.getByRole("menuitem", { name: "Settings…" }).click();
  await expect(page.getByRole("dialog")).toBeVisible();
}

test.describe("settings", () => {
  test.use({ bypassCSP: true });

  test("win over the page's parameters, stay after a reload, and can be taken back", async ({ page, service }) => {
    const author = { theme: "light", wraps: false, size: "16px" };
    const reader = { theme: "dark", wraps: true, size: "18px" };
    await page.goto(`${service.url}/embed?lang=python&theme=light&fontSize=16`);
    await openSettings(page);
    expect(await look(page)).toEqual(author);
    expect(await faults(page.mainFrame())).toEqual([]);
    await page.getByRole("radio", { name: "Dark" }).check();
    await page.getByRole("button", { name: "Larger font" }).click();
    await page.getByRole("button", { name: "Larger font" }).click();
    await page.getByRole("checkbox", { name: "in the code" }).check();
    await page.getByRole("checkbox", { name: "in the output" }).check();
    expect(await look(page)).toEqual(reader);
    await page.keyboard.press("Escape");
    await page.getByRole("tab", { name: "words.py" }).click();
    expect(await look(page)).toEqual(reader);
    await page.reload();
    await page.locator("#run").click();
    await expect(page.getByRole("button", { name: "Wrap" })).toHaveAttribute("aria-pressed", "true");
    expect(await look(page)).toEqual(reader);
    await openSettings(page);
    await page.getByRole("button", { name: "Use the page’s settings" }).click();
    expect(await look(page)).toEqual(author);
  });
});

test("settings work without storage, and the theme that the host page sets gives way to them", async ({ page, service }) => {
  await page.addInitScript(() => {
    Object.defineProperty(window, "localStorage", { get: () => { throw new DOMException("denied", "SecurityError"); } });
  });
  const frame = await embed(page, service, "lang=python");
  const theme = () => frame.evaluate(() => document.documentElement.dataset["theme"]);
  const setTheme = (wanted: string) =>
    page.evaluate((theme) => {
      const message = { app: "sandpiper", v: 1, type: "setTheme", payload: { theme } };
      document.querySelector("iframe")?.contentWindow?.postMessage(message, "*");
    }, wanted);
  await setTheme("dark");
  await expect.poll(theme).toBe("dark");
  await frame.locator("#menu-button[aria-controls]").click();
  await frame.getByRole("menuitem", { name: "Settings…" }).click();
  await frame.getByRole("radio", { name: "Light" }).check();
  await expect.poll(theme).toBe("light");
  await setTheme("auto");
  // Commands are executed in their order: this one is seen.
  await page.evaluate(() => {
    const message = { app: "sandpiper", v: 1, type: "setStdin", payload: { stdin: "after it" } };
    document.querySelector("iframe")?.contentWindow?.postMessage(message, "*");
  });
  await expect(frame.locator("#stdin")).toHaveValue("after it");
  expect(await theme()).toBe("light");
});

for (const [layout, size, keys] of [
  ["cols", "width", ["ArrowLeft", "ArrowRight"]],
  ["rows", "height", ["ArrowUp", "ArrowDown"]],
] as const) {
  test(`the divider, layout=${layout}: dragged, moved by keys, kept, and reset`, async ({ page, service }) => {
    await page.goto(`${service.url}/embed?lang=python&layout=${layout}&run=load`);
    await expect(page.locator(".stdout")).toBeVisible();
    const divider = page.getByRole("separator", { name: "Size of the code" });
    const code = async () => (await page.locator("#left").boundingBox())?.[size] ?? 0;
    const before = await code();
    await divider.focus();
    for (let press = 0; press < 5; press++) await page.keyboard.press(keys[0]);
    await expect.poll(code).toBeLessThan(before - 20);
    const moved = await code();
    await page.keyboard.press(keys[1]);
    await expect.poll(code).toBeGreaterThan(moved);
    const box = await divider.boundingBox();
    const [x, y] = [(box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + (box?.height ?? 0) / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(0, 0, { steps: 4 });
    await page.mouse.up();
    const main = (await page.locator("main").boundingBox())?.[size] ?? 0;
    // No part disappears.
    await expect.poll(async () => Math.round((100 * (await code())) / main)).toBe(15);
    await expect(divider).toHaveAttribute("aria-valuenow", "15");
    await page.reload();
    await expect(page.locator(".stdout")).toBeVisible();
    expect(Math.round((100 * (await code())) / main)).toBe(15);
    await divider.dblclick();
    await expect.poll(code).toBe(before);
  });
}

test("the divider between a preview and its console", async ({ page, service }) => {
  await page.goto(service.hostPage(`<iframe src="${service.url}/embed?lang=web&run=load" width="1000" height="600"></iframe>`));
  const frame = await editorIn(page);
  await expect(shown(frame).locator("h1")).toBeVisible();
  const height = async () => (await frame.locator(".console").boundingBox())?.height ?? 0;
  const before = await height();
  const divider = frame.getByRole("separator", { name: "Size of the preview" });
  await divider.focus();
  for (let press = 0; press < 5; press++) await page.keyboard.press("ArrowUp");
  await expect.poll(height).toBeGreaterThan(before + 20);
  await divider.dblclick();
  await expect.poll(height).toBe(before);
});

test("a choice in one editor is taken by another, which adds its own", async ({ context, page, service }) => {
  const url = `${service.url}/embed?lang=python`;
  const other = await context.newPage();
  for (const one of [page, other]) await one.goto(url);
  await openSettings(page);
  await page.getByRole("radio", { name: "Dark" }).check();
  await expect.poll(async () => (await look(other)).theme).toBe("dark");
  await openSettings(other);
  await other.getByRole("checkbox", { name: "in the code" }).check();
  await page.reload();
  await page.locator(".cm-content").waitFor();
  expect(await look(page)).toMatchObject({ theme: "dark", wraps: true });
});
