// Typing over a selection. Chromium would copy the look of the replaced text into
// a style attribute, which violates the page's policy.

import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

export const overtyping: Extension = EditorView.domEventHandlers({
  beforeinput({ data, inputType, isComposing, cancelable }, view) {
    // Keyboards that compose text, as on phones and for Chinese, need the browser's own handling.
    if (inputType !== "insertText" || data === null || isComposing || !cancelable) return false;
    const span = selected(view);
    if (span === null || view.state.readOnly) return false;
    const { from, to } = span;
    const insert = () => {
      const text = view.state.toText(data);
      const selection = { anchor: from + text.length };
      return view.state.update({ changes: { from, to, insert: text }, selection, userEvent: "input.type", scrollIntoView: true });
    };
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((handler) => handler(view, from, to, data, insert))) view.dispatch(insert());
    return true;
  },
});

/** The selection of the browser, which the editor may not know yet; `null` if there is none. */
function selected(view: EditorView): { from: number; to: number } | null {
  const selection = getSelection();
  if (selection === null || selection.isCollapsed || selection.rangeCount === 0) return null;
  const { startContainer, startOffset, endContainer, endOffset } = selection.getRangeAt(0);
  if (![startContainer, endContainer].every((node) => view.contentDOM.contains(node))) return null;
  const from = view.posAtDOM(startContainer, startOffset);
  const to = view.posAtDOM(endContainer, endOffset);
  return from < to ? { from, to } : null;
}
