// Locked lines of the code: no change touches them, they move along with changes
// around them, and screen readers say when the cursor comes to one.

import { EditorState, StateEffect, StateField, type Extension, type Text } from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";

import "../styles/locked.css";
import { readSpans, writeSpans, type Span } from "../locks";
import { number, t } from "../messages";

interface Region {
  /** The start of its first line, and the end of its last one. */
  from: number;
  to: number;
  /** Nothing can be added before it, or after it. */
  isFirst: boolean;
  isLast: boolean;
}

interface Change {
  from: number;
  to: number;
  inserted: Text;
}

/** A change was refused. */
const refused = StateEffect.define<null>();
const look = Decoration.line({ class: "cm-locked-line" });

const field = StateField.define<readonly Region[]>({
  create: () => [],
  update(regions, { changes, docChanged, startState }) {
    if (!docChanged) return regions;
    const all: Change[] = [];
    changes.iterChanges((from, to, _, __, inserted) => all.push({ from, to, inserted }));
    return regions.map((region) => moved(region, all, startState.doc));
  },
});

/** Locks these lines of a file with this content; `onRefused` is called when a change is refused. */
export function lockedLines(locked: string, content: string, onRefused: () => void): Extension {
  const spans = readSpans(locked, content);
  return [
    field.init(({ doc }) => spans.map((span) => regionOf(doc, span))),
    refusing,
    announcing,
    tinting,
    style,
    EditorView.updateListener.of(({ transactions }) => {
      if (transactions.some(({ effects }) => effects.some((effect) => effect.is(refused)))) onRefused();
    }),
  ];
}

/** The locked lines now; `null` if the state has none. */
export function lockedNow(state: EditorState): string | null {
  const spans = spansOf(state);
  return spans.length === 0 ? null : writeSpans(spans);
}

/** The locked lines for people; empty if there are none. */
export function lockedWords(state: EditorState): string {
  const spans = spansOf(state);
  return spans.length === 0 ? "" : t("editor.locked-lines", { lines: spoken(spans) });
}

// Undoing passes by: it only takes back what has passed here.
const refusing = EditorState.transactionFilter.of((transaction) => {
  const { changes, docChanged, startState } = transaction;
  if (!docChanged) return transaction;
  let isRefused = false;
  changes.iterChanges((from, to, _, __, inserted) => {
    const change = { from, to, inserted };
    isRefused ||= startState.field(field).some((region) => sideOf(change, region, startState.doc) === null);
  });
  return isRefused ? { effects: refused.of(null) } : transaction;
});

const announcing = EditorState.transactionExtender.of(({ docChanged, newSelection, selection, startState }) => {
  if (docChanged || selection === undefined) return null;
  const isLocked = (at: number) => startState.field(field).some(({ from, to }) => from <= at && at <= to);
  const enters = isLocked(newSelection.main.head) && !isLocked(startState.selection.main.head);
  return enters ? { effects: EditorView.announce.of(t("editor.locked-line")) } : null;
});

const tinting = EditorView.decorations.of(({ state, visibleRanges }) => {
  const lines = new Set<number>();
  for (const { from, to } of visibleRanges) {
    for (const region of state.field(field)) {
      const end = Math.min(to, region.to);
      for (let at = Math.max(from, region.from); at <= end; ) {
        const line = state.doc.lineAt(at);
        lines.add(line.from);
        at = line.to + 1;
      }
    }
  }
  return Decoration.set([...lines].map((from) => look.range(from)), true);
});

// Borders are seen in forced colours too.
const style = EditorView.baseTheme({
  ".cm-line.cm-locked-line": { backgroundColor: "var(--locked)", borderLeft: "3px double var(--gutter)", paddingLeft: "3px" },
});

/** Lines for people: `1 to 3 and 10 to the end`. */
function spoken(spans: readonly Span[]): string {
  const words = ({ from, to }: Span) => {
    if (to === Infinity) return t("editor.lines-to-end", { from });
    return to === from ? number(from) : t("editor.lines-from-to", { from, to });
  };
  return new Intl.ListFormat(document.documentElement.lang).format(spans.map(words));
}

function regionOf(doc: Text, { from, to }: Span): Region {
  const last = Math.min(to, doc.lines);
  return { from: doc.line(from).from, to: doc.line(last).to, isFirst: from === 1, isLast: to === Infinity };
}

function spansOf(state: EditorState): Span[] {
  const { doc } = state;
  return (state.field(field, false) ?? []).map(({ from, to, isLast }) => {
    const last = isLast ? Infinity : doc.lineAt(to).number;
    return { from: doc.lineAt(from).number, to: last };
  });
}

/** The side of a region on which a change is made that leaves its lines as they are; `null` if it does not. */
function sideOf({ from, to, inserted }: Change, region: Region, doc: Text): "before" | "after" | null {
  if (to < region.from) return "before";
  if (from > region.to) return "after";
  const isRemoval = inserted.length === 0;
  if (to === region.from && !region.isFirst) {
    // A line stays free before it: else it would be the first one, before which nothing can be added.
    const isLineEnd = isRemoval ? from > 0 && from === doc.lineAt(from).from : inserted.line(inserted.lines).length === 0;
    if (isLineEnd) return "before";
  }
  if (from === region.to && !region.isLast) {
    const isLineStart = isRemoval ? to === doc.lineAt(to).to : inserted.line(1).length === 0;
    if (isLineStart) return "after";
  }
  return null;
}

function moved(region: Region, changes: readonly Change[], doc: Text): Region {
  let by = 0;
  for (const change of changes) {
    // Several changes may have been undone at once; that leaves the lines as they are all the same.
    const side = sideOf(change, region, doc) ?? (change.from < region.from ? "before" : "after");
    if (side === "before") by += change.inserted.length - (change.to - change.from);
  }
  return { ...region, from: region.from + by, to: region.to + by };
}
