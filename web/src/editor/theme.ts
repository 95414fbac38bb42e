// The colours of code, each readable (WCAG 2.2 AA) on the page and on the
// active line, in both themes. The values are variables of styles/theme.css.

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const highlight = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier, tags.self], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp, tags.escape], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom, tags.color], color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.className, tags.namespace, tags.standard(tags.name)], color: "var(--code-type)" },
  {
    tag: [tags.function(tags.variableName), tags.definition(tags.function(tags.variableName)), tags.labelName],
    color: "var(--code-definition)",
  },
  { tag: [tags.tagName, tags.heading], color: "var(--code-tag)" },
  { tag: [tags.attributeName, tags.propertyName], color: "var(--code-attribute)" },
  { tag: [tags.meta, tags.processingInstruction, tags.annotation], color: "var(--code-comment)" },
  { tag: tags.invalid, color: "var(--code-error)" },
  { tag: tags.strong, fontWeight: "bold" },
  { tag: tags.emphasis, fontStyle: "italic" },
]);

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--page)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", fontSize: "var(--code-size)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0 28px" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--page)", color: "var(--gutter)", border: "none" },
  ".cm-gutter-lint": { width: "var(--gutter-marks)" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "var(--gutter-numbers)", padding: "0 8px 0 0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "var(--active-line)" },
  "&.cm-focused .cm-activeLineGutter": { backgroundColor: "var(--active-line)", color: "var(--text)" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "0", display: "flex", alignItems: "center", justifyContent: "end" },
  ".cm-lint-marker": { width: "8px", height: "8px", borderRadius: "50%", forcedColorAdjust: "none" },
  ".cm-lint-marker-error": { content: "normal", backgroundColor: "var(--error)" },
  ".cm-lint-marker-warning": { content: "normal", backgroundColor: "light-dark(#8a5a00, #ffcf70)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  ".cm-panels, .cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    borderColor: "var(--line)",
  },
  ".cm-textfield, .cm-button": {
    fontSize: "13px",
    color: "var(--text)",
    backgroundColor: "var(--page)",
    backgroundImage: "none",
    borderColor: "var(--line)",
    "&:active": { backgroundColor: "var(--active-line)", backgroundImage: "none" },
  },
  // The button that closes it stands over its end.
  ".cm-panel.cm-search": { paddingInlineEnd: "32px" },
  ".cm-panel button[name=close]": { minWidth: "24px", minHeight: "24px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--on-accent)",
  },
  // The word that Tab accepts while none is chosen.
  ".cm-tooltip-autocomplete ul:not(:has([aria-selected])) li:first-child": { backgroundColor: "var(--active-line)" },
  // Without the focus, nobody types there.
  "&.cm-focused .cm-matchingBracket": { outline: "1px solid var(--accent)", backgroundColor: "transparent" },
});

export const theme: Extension = [look, syntaxHighlighting(highlight)];
