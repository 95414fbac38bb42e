// Copying, if the browser and the embedding page allow it.

import { element } from "../dom";

/** Whether the text is on the clipboard now. */
export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without https or the frame's permission there is no such clipboard.
    return copySelected(text);
  }
}

/** The older interface, which frames may use without permission. */
function copySelected(text: string): boolean {
  const focused = document.activeElement;
  const area = element("textarea", { class: "unseen", "aria-hidden": "true", tabindex: "-1" });
  area.value = text;
  // Nothing outside of an open dialog can be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  return isDone;
}
