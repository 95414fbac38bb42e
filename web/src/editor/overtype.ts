// Typing over a selection. Left to Chromium, it copies the look of what goes
// into a style attribute, which the page's policy forbids and complains of.

import { EditorView } from "@codemirror/view";

export const overtyping = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { data, inputType, isComposing } = event;
    const { from, to, empty } = view.state.selection.main;
    const isTyped = inputType === "insertText" && !isComposing && data !== null;
    if (!isTyped || empty || view.state.readOnly || !event.cancelable) return false;
    const change = () =>
      view.state.update(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    // Brackets and quotes go around what is selected.
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((handler) => handler(view, from, to, data, change))) view.dispatch(change());
    return true;
  },
});
