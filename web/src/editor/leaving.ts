// Escape, then Tab, moves the focus out of the code, in which Tab indents.

import { Prec, type Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";

/** Longer than a page is open. CodeMirror's default of 2 s is too short for many people. */
const UNTIL_ANOTHER_KEY_MS = 1e12;

export const leaving: Extension = [
  // After all commands by which Escape closes something.
  Prec.lowest(keymap.of([{ key: "Escape", run: (view) => (view.setTabFocusMode(UNTIL_ANOTHER_KEY_MS), true) }])),
  // After coming back, or a click, Tab indents again.
  EditorView.domEventObservers({ blur: indentAgain, mousedown: indentAgain, touchstart: indentAgain }),
];

function indentAgain(_: Event, view: EditorView): void {
  // 0 ends it now; false would also end the mode that Ctrl-M toggles.
  view.setTabFocusMode(0);
}
