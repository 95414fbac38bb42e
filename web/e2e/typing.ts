// Typing in the editor, as a person does.

import type { Locator } from "@playwright/test";

/**
 * Replaces all code. `fill` sets the selection by script, and the editor may set its own
 * again just after, because it has got the focus: the new code then stands before the old.
 */
export async function replaceCode(editor: Locator, code: string): Promise<void> {
  await editor.press("ControlOrMeta+a");
  if (code === "") await editor.press("Delete");
  else await editor.page().keyboard.insertText(code);
}
