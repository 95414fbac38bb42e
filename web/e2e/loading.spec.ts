// Most of the page comes after the editor: all that a person or the embedding page
// asks for before it is there is done when it is, and a part that could not be
// loaded is reported, and asked for again.

import type { Frame, Page } from "@playwright/test";

import { editorIn, ended, expect, held, test } from "./service";
import { replaceCode } from "./typing";

const isLate = (path: string) => /^assets\/(page|preview|zip)-/.test(path);

/** An editor in a host page whose later parts are kept back. */
async function early(page: Page, service: { url: string; hostPage(html: string): string }, query: string, script = "") {
  const late = await held(page, isLate);
  const frame = `<iframe src="${service.url}/embed?${query}" width="1000" height="600"></iframe>`;
  await page.goto(service.hostPage(`${frame}<script>${script}</script>`), { waitUntil: "commit" });
  const editor = await editorIn(page);
  return { late, editor };
}

/** A command before the rest is loaded, and its effect afterwards. */
const WISHES: Readonly<Record<string, [act: (editor: Frame, page: Page) => Promise<void>, shows: (editor: Frame) => Promise<void>]>> = {
  "the button": [
    (editor) => editor.locator("#run").click(),
    async (editor) => expect(editor.locator(".stdout pre")).toHaveText("early\n"),
  ],
  "its key": [
    (_, page) => page.keyboard.press("Control+Enter"),
    async (editor) => expect(editor.locator(".stdout pre")).toHaveText("early\n"),
  ],
  "the search": [
    (_, page) => page.keyboard.press("Control+F"),
    async (editor) => expect(editor.locator(".cm-search input[name=search]")).toBeFocused(),
  ],
  "the menu": [
    (editor) => editor.locator("#menu-button").click(),
    async (editor) => expect(editor.getByRole("menuitem").first()).toBeFocused(),
  ],
  "the menu by its key": [
    (editor) => editor.locator("#menu-button").press("ArrowDown"),
    async (editor) => expect(editor.getByRole("menuitem").first()).toBeFocused(),
  ],
  "the end of the menu": [
    (editor) => editor.locator("#menu-button").press("ArrowUp"),
    async (editor) => expect(editor.getByRole("menuitem").last()).toBeFocused(),
  ],
};

for (const [name, [act, shows]] of Object.entries(WISHES)) {
  // Another key opens the menu at its end.
  const tag = name === "the menu by its key" ? "@full" : [];
  test(`${name}, before it is there`, { tag }, async ({ page, service, complaints }) => {
    const { late, editor } = await early(page, service, "lang=python&autosave=off");
    await editor.locator(".cm-content").click();
    await page.keyboard.press("Control+A");
    await page.keyboard.type('print("early")');
    await act(editor, page);
    // Held back, it cannot have been done.
    await expect(editor.locator("#menu, .cm-search, .stdout")).toHaveCount(0);
    late.release();
    await shows(editor);
    await expect(editor.locator(".cm-content")).toHaveText('print("early")');
    expect(complaints).toEqual([]);
  });
}

for (const [name, act] of [["the button", WISHES["the button"]], ["its key", WISHES["its key"]]] as const) {
  test(`${name}, before there is an editor`, async ({ page, service }) => {
    const { release } = await held(page, (path) => path.startsWith("assets/python-"));
    await page.goto(`${service.url}/embed?lang=python`, { waitUntil: "domcontentloaded" });
    await act?.[0](page.mainFrame(), page);
    await expect(page.locator(".cm-editor")).toHaveCount(0);
    release();
    expect(await ended(page.mainFrame())).toContain("Finished");
  });
}

for (const name of ["the button", "its key"]) {
  test(`${name}, before any script of the page: remembered, or refused if none is loaded`, async ({ page, service }) => {
    const act = () => WISHES[name]?.[0](page.mainFrame(), page);
    const { release } = await held(page, (path) => /^assets\/main-.*\.js$/.test(path));
    await page.goto(`${service.url}/embed?lang=python`, { waitUntil: "commit" });
    await expect(page.locator("#run")).toBeVisible();
    await act();
    await expect(page.locator("#status")).toHaveText("Loading the editor…");
    release();
    await expect(page.locator("#status")).toHaveText(/^Finished/);
    await page.unrouteAll();
    const { lose } = await held(page, (path) => /^assets\/main-.*\.js$/.test(path));
    await page.goto(`${service.url}/embed?lang=python&again`, { waitUntil: "commit" });
    await expect(page.locator("#run")).toBeVisible();
    await act();
    lose();
    await expect(page.locator("#status")).toHaveText(/^Not run: the editor could not be loaded\./);
    await act();
    await expect(page.locator("#status")).toHaveText(/^Not run: the editor could not be loaded\./);
  });
}

test("completions of a word that was typed before they are there", async ({ page, service }) => {
  const { late, editor } = await early(page, service, "lang=python&autosave=off");
  const code = editor.locator(".cm-content");
  await replaceCode(code, "");
  await page.keyboard.type("whi");
  await expect(code).toHaveText("whi");
  late.release();
  await expect(editor.getByRole("option", { name: "while" })).toBeVisible();
});

test("no completions over the output of a run that was asked for before they are there", async ({ page, service }) => {
  const { late, editor } = await early(page, service, "lang=python&autosave=off");
  await replaceCode(editor.locator(".cm-content"), "");
  await page.keyboard.type("whi");
  await page.keyboard.press("Control+Enter");
  late.release();
  expect(await ended(editor)).toMatch(/^Failed/);
  await expect(editor.locator(".cm-tooltip-autocomplete")).toHaveCount(0);
});

test("formatting, before it is known which lines are locked", async ({ page, service }) => {
  const { release } = await held(page, (path) => path.startsWith("assets/locked-"));
  const code = JSON.stringify({ files: [{ path: "a.js", content: "let a  = 1;\nlet b  = 2;\n", locked: "1" }] });
  await page.goto(`${service.url}/embed?lang=web&autosave=off#json=${encodeURIComponent(code)}`);
  await page.locator("#menu-button[aria-controls]").waitFor();
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Shift+Alt+F");
  release();
  await expect(page.locator(".notice")).toContainText("Not formatted: locked lines would change.");
});

test("input that was typed before there is a run is given to it", async ({ page, service }) => {
  const { late, editor } = await early(page, service, "lang=python&autosave=off");
  await replaceCode(editor.locator(".cm-content"), "print(input())");
  await editor.locator("#input-toggle").click();
  await editor.locator("#stdin").fill("an answer");
  await editor.locator("#run").click();
  late.release();
  await expect(editor.locator(".stdout pre")).toHaveText("an answer\n");
});

test("messages that come before anybody can answer are answered", async ({ page, service }) => {
  const script = `
    window.answers = [];
    addEventListener("message", (event) => answers.push(event.data));
    document.querySelector("iframe").addEventListener("load", (event) => {
      const tell = (message) => event.target.contentWindow.postMessage(message, "*");
      tell({ eventType: "populateCode", language: "python", files: [{ name: "main.py", content: "print('sent')" }] });
      tell({ eventType: "triggerRun" });
      // Forged: from this page itself, not from the one around it.
      postMessage({ eventType: "triggerRun" }, "*");
    });`;
  const { late, editor } = await early(page, service, "lang=python&listenToEvents=true", script);
  await expect(editor.locator(".cm-content")).not.toHaveText("print('sent')");
  late.release();
  await expect(editor.locator(".cm-content")).toHaveText("print('sent')");
  await expect(editor.locator(".stdout pre")).toHaveText("sent\n");
});

/** How a part that was lost is asked for again. */
const AGAIN: Readonly<Record<string, (editor: Frame, page: Page) => Promise<void>>> = {
  "the button of the notice": (editor) => editor.getByRole("button", { name: "Try again" }).click(),
  "Run": (editor) => editor.locator("#run").click(),
  "the network, which comes back": (editor) => editor.evaluate(() => void dispatchEvent(new Event("online"))),
};

for (const [name, again] of Object.entries(AGAIN)) {
  test(`a load error is shown, and repaired by ${name}`, async ({ page, service }) => {
    const { late, editor } = await early(page, service, "lang=web&autosave=off");
    await replaceCode(editor.locator(".cm-content"), "<p>Not lost</p>");
    await editor.locator("#run").click();
    late.lose();
    await expect(editor.locator(".notice")).toContainText("The connection was lost");
    await expect(editor.locator("#status")).toContainText("Not run");
    await expect(editor.locator(".cm-content")).toHaveText("<p>Not lost</p>");
    await expect(editor.locator("#menu-button")).not.toHaveAttribute("aria-controls");
    late.release();
    await again(editor, page);
    await expect(editor.locator("#menu-button")).toHaveAttribute("aria-controls", "menu");
    // The run that was asked for begins by itself.
    await expect(editor.locator("#status")).toHaveText(/^Finished/);
    await expect(editor.frameLocator(".preview iframe").frameLocator("iframe").locator("p")).toHaveText("Not lost");
  });
}

test("a grammar that could not be loaded is reported, and loaded again", async ({ page, service }) => {
  const late = await held(page, (path) => path.startsWith("assets/css-") || path.startsWith("assets/json-"));
  late.lose();
  await page.goto(`${service.url}/embed?lang=web#json=${encodeURIComponent('{"files":[{"path":"index.html","content":""},{"path":"a.json","content":"true"}]}')}`);
  const tab = page.getByRole("tab", { name: "a.json" });
  await tab.click();
  await expect(page.locator(".notice")).toContainText("The connection was lost");
  await expect(page.locator(".cm-content")).toHaveText("true");
  await expect(page.locator(".cm-content span")).toHaveCount(0);
  late.release();
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.locator(".cm-content span").first()).toBeVisible();
});
