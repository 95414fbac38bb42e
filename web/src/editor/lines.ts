// Lines that the embedding page points at.

import { RangeSet, StateEffect, StateField, type Extension, type TransactionSpec } from "@codemirror/state";
import { Decoration, EditorView, type DecorationSet } from "@codemirror/view";

const effect = StateEffect.define<readonly number[]>();
const look = Decoration.line({ class: "cm-pointed-line" });

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(lines, transaction) {
    const pointed = transaction.effects.filter((one) => one.is(effect)).at(-1);
    if (pointed === undefined) return lines.map(transaction.changes);
    const { doc } = transaction.state;
    const known = pointed.value.filter((line) => line <= doc.lines);
    return RangeSet.of(known.map((line) => look.range(doc.line(line).from)), true);
  },
  provide: (own) => EditorView.decorations.from(own),
});

export const pointedLines: Extension = [
  field,
  EditorView.baseTheme({
    ".cm-pointed-line": { backgroundColor: "var(--active-line)", boxShadow: "inset 3px 0 var(--accent)" },
  }),
];

/** Points at these lines, from 1; the pointers of before go. */
export function pointAt(lines: readonly number[]): TransactionSpec {
  return { effects: effect.of(lines) };
}
