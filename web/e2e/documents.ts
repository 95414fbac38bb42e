// Shared by tests of previews: documents to run, and their frames.

import type { Frame, Page } from "@playwright/test";

/** Has these files run when Run is pressed; the first is the entry. */
export async function submit(page: Page, language: string, files: Readonly<Record<string, string>>) {
  const list = Object.entries(files).map(([path, content]) => ({ path, content }));
  const body = { language, entryFile: list[0]?.path ?? "", files: list };
  await page.unroute("**/api/compile");
  await page.route("**/api/compile", (route) => route.continue({ postData: JSON.stringify(body) }));
}

/** Has each run print this document, without a program. */
export async function answer(page: Page, document: string) {
  await page.unroute("**/api/compile");
  await page.route("**/api/compile", (route) =>
    route.fulfill({ headers: { "Sandpiper-Exit": "stage=run; code=0" }, json: { stdout: document, stderr: "" } }),
  );
}

/** The query of an editor with these files, the first of them the entry. */
export function withFiles(query: string, files: Readonly<Record<string, string>>): string {
  const list = Object.entries(files).map(([path, content]) => ({ path, content }));
  const code = { entryFile: list[0]?.path ?? "", files: list };
  return `${query}#json=${encodeURIComponent(JSON.stringify(code))}`;
}

/** The lines of the console. */
export const lines = (editor: Frame) => editor.locator(".console-log > ol > li");

/** Acts, and waits until the preview's frame is gone: a look into it while it goes fails, as if the browser had closed. */
export async function replaced(page: Page, act: () => unknown): Promise<void> {
  const old = await page.locator(".preview iframe").elementHandle();
  await act();
  await old?.waitForElementState("hidden");
}

/** The page that the program made. */
export const shown = (editor: Frame) => editor.frameLocator(".preview iframe").frameLocator("iframe");
