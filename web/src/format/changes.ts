// The change from a text to its formatted form, by whole lines: lines that stay
// the same, locked ones among them, are not touched. The cursor stays at its character.

import type { ChangeSpec, Text } from "@codemirror/state";
import { diffArrays } from "diff";

/** Beyond this many changed lines, all of the text is replaced: comparing more would take seconds. */
const MAX_CHANGES = 4000;
/** A formatter keeps these characters; it adds and removes blanks and signs, such as semicolons. */
const KEPT = /[\w\u0080-\uffff]/;

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

/** The place of the cursor in the formatted text: by the characters before it that are kept, the signs behind those, and the end of the line. */
export function moved(before: string, cursor: number, after: string): number {
  let kept = 0;
  let signs = 0;
  let isNextLine = false;
  for (let at = 0; at < cursor; at++) {
    const character = before.charAt(at);
    const isKept = KEPT.test(character);
    if (isKept) kept += 1;
    const isBlank = character.trim() === "";
    signs = isKept ? 0 : signs + (isBlank ? 0 : 1);
    isNextLine = isBlank && (isNextLine || character === "\n");
  }
  const next = nthKept(after, kept + 1);
  if (KEPT.test(before.charAt(cursor))) return next;
  let place = kept === 0 ? 0 : Math.min(nthKept(after, kept) + 1, next);
  for (let at = place; signs > 0 && at < next; at++) {
    if (after.charAt(at).trim() === "") continue;
    signs -= 1;
    place = at + 1;
  }
  const end = isNextLine ? after.slice(place, next).indexOf("\n") : -1;
  return place + end + 1;
}

/** The place of this one of the characters that are kept, or the end. */
function nthKept(text: string, count: number): number {
  let left = count;
  for (let at = 0; at < text.length; at++) {
    if (KEPT.test(text.charAt(at)) && --left === 0) return at;
  }
  return text.length;
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
