// How the keyboard leaves the code, where Tab indents: by Escape, then Tab.

import { Prec, type Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";

/** Longer than a page is open. CodeMirror's own 2 s are too short for many hands. */
const UNTIL_ANOTHER_KEY_MS = 1e12;

export const leaving: Extension = [
  // After everything that Escape may close.
  Prec.lowest(keymap.of([{ key: "Escape", run: (view) => (view.setTabFocusMode(UNTIL_ANOTHER_KEY_MS), true) }])),
  // Who comes back, or does something else, indents again.
  EditorView.domEventObservers({ blur: indentAgain, mousedown: indentAgain, touchstart: indentAgain }),
];

function indentAgain(_: Event, view: EditorView): void {
  // For no longer than now: false would end what Ctrl-M began, too.
  view.setTabFocusMode(0);
}
