// The change from a text to its formatted form, by whole lines: lines that stay
// the same, locked ones among them, are not touched.

import type { ChangeSpec, Text } from "@codemirror/state";
import { diffArrays } from "diff";

/** Beyond this many changed lines, all of the text is replaced: comparing more would take seconds. */
const MAX_CHANGES = 4000;

export function changesTo(doc: Text, formatted: string): ChangeSpec[] {
  const before = doc.toString().split("\n");
  const after = formatted.split("\n");
  const blocks = diffArrays(before, after, { maxEditLength: MAX_CHANGES });
  if (blocks === undefined) return [{ from: 0, to: doc.length, insert: formatted }];
  const changes: ChangeSpec[] = [];
  let line = 1;
  let removed = 0;
  for (const { value, added, removed: isRemoved } of [...blocks, { value: [], added: false, removed: false }]) {
    if (isRemoved) {
      removed = value.length;
      continue;
    }
    if (added || removed > 0) changes.push(replaced(doc, line, removed, added ? value : []));
    line += removed + (added ? 0 : value.length);
    removed = 0;
  }
  return changes;
}

/** Puts other lines in the place of `count` lines from `line` on. */
function replaced(doc: Text, line: number, count: number, lines: readonly string[]): ChangeSpec {
  const insert = lines.join("\n");
  const isAtEnd = line + count > doc.lines;
  if (count > 0 && lines.length > 0) return { from: doc.line(line).from, to: doc.line(line + count - 1).to, insert };
  if (lines.length > 0) return isAtEnd ? { from: doc.length, insert: `\n${insert}` } : { from: doc.line(line).from, insert: `${insert}\n` };
  if (!isAtEnd) return { from: doc.line(line).from, to: doc.line(line + count).from };
  return { from: line === 1 ? 0 : doc.line(line - 1).to, to: doc.length };
}
