// One look at a document in the browser: loaded, used, looked at.

import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { type BrowserContext, expect, type Frame } from "@playwright/test";
import { stringify } from "smol-toml";

import { listen } from "./console";
import type { Action, PageTable } from "./program";

interface Visit {
  /** Where the document is saved. */
  file: string;
  /** In a frame as the editor's preview has it: of another origin than the page. */
  isFramed: boolean;
  /** The paths of the submitted files. */
  paths: ReadonlySet<string>;
}

/** Opens the document and uses it; gives a way to look at it then. */
export async function visit(context: BrowserContext, document: string, table: PageTable, where: Visit) {
  writeFileSync(where.file, where.isFramed ? framed(document) : document);
  const url = pathToFileURL(where.file).href;
  const page = await context.newPage();
  const said = await listen(page, url, { name: where.isFramed ? "about:srcdoc" : url, paths: where.paths });
  await page.goto(url);
  const frame = where.isFramed ? page.frames()[1] : page.mainFrame();
  if (frame === undefined) throw new Error("there is no frame");
  const { wait_for, actions = [], select = "body", styles = {} } = table;
  await settled(frame);
  if (wait_for !== undefined) await act(frame, { wait_for });
  for (const action of actions) await act(frame, action);
  return async () => ({ ...(await frame.evaluate(look, { select, styles })), ...said() });
}

/** The shape of a look that is as the table says; no look has a key that is misspelt. */
export function expected({ wait_for, actions, select, ...looked }: PageTable) {
  const loaded: unknown = expect.not.arrayContaining(["0x0"]);
  return { images: loaded, console: [], ...looked, strangers: [] };
}

/** The table as it would be now, to be pasted. */
export function asTable(table: PageTable, seen: object): string {
  const looked = Object.entries(seen).filter(([key]) => key in table || key === "console");
  return stringify({ page: Object.fromEntries(looked) });
}

/** Waits until all that is there is drawn, and all that it started at once has run. */
async function settled(frame: Frame) {
  await frame.evaluate(async () => {
    const images = [...document.images].filter((image) => image.loading !== "lazy");
    await Promise.all(images.map((image) => image.decode().catch(() => {})));
    await document.fonts.ready;
    for (let frames = 0; frames < 2; frames++) {
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    }
  });
}

async function act(frame: Frame, action: Action) {
  const first = (selector: string) => frame.locator(selector).first();
  // A reader can press what is disabled, too; nothing is to happen then.
  if ("click" in action) await first(action.click).click({ force: true });
  else if ("choose" in action) await first(action.from).selectOption(action.choose);
  else if ("press" in action) await first(action.on).press(action.press);
  else if ("wait_for" in action) await first(action.wait_for).waitFor({ state: "attached" });
  else {
    await first(action.into).fill(action.type);
    // As when the reader goes on to another field.
    await first(action.into).dispatchEvent("change");
  }
  await settled(frame);
}

/** Runs in the page. */
function look({ select, styles }: { select: string; styles: Record<string, Record<string, string>> }) {
  const find = (selector: string) => {
    const found = document.querySelector(selector);
    if (found === null) throw new Error(`nothing is ${selector}`);
    return found;
  };
  const computed = Object.entries(styles).map(([selector, names]) => {
    const style = getComputedStyle(find(selector));
    return [selector, Object.fromEntries(Object.keys(names).map((name) => [name, style.getPropertyValue(name)]))];
  });
  return {
    title: document.title,
    text: document.body.innerText.trim(),
    dom: find(select).innerHTML,
    images: [...document.images].map((image) => `${image.naturalWidth}x${image.naturalHeight}`),
    styles: Object.fromEntries(computed) as Record<string, Record<string, string>>,
  };
}

function framed(document: string): string {
  const attribute = document.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return `<!doctype html><meta charset="utf-8"><body style="margin: 0">
    <iframe sandbox="allow-scripts allow-forms allow-modals" srcdoc="${attribute}"
      style="border: 0; width: 100%; height: 100vh; display: block"></iframe>`;
}
