// The part of a long text that is shown at first: its beginning and its end, with
// long lines cut, since the browser would take long to show more.

import { t } from "../messages";
import { whole, type Cut } from "./ansi";

/** The most lines that are shown at first. */
export const LINES_SHOWN = 5000;
/** Of a longer line only the beginning is shown. */
export const LINE_CUT: Cut = { length: 5000, note: (n) => ` ${t("output.line-cut", { n })}` };
/** The most characters that are shown at first. */
export const LENGTH_SHOWN = 500_000;
/** The most rows of a table that are shown. */
export const ROWS_SHOWN = 500;

const LINES_AT_END = 1000;
const LENGTH_AT_END = 100_000;

export interface Shown {
  head: string;
  /** The text between head and tail; empty for a short text. */
  hidden: string;
  tail: string;
}

/** Cuts the middle out of a text that is too long, at the ends of lines if possible. */
export function shownOf(text: string): Shown {
  if (text.length <= LENGTH_SHOWN && hasAtMost(text, LINES_SHOWN)) return { head: text, hidden: "", tail: "" };
  const head = firstLines(text, LINES_SHOWN - LINES_AT_END, LENGTH_SHOWN - LENGTH_AT_END);
  const rest = text.slice(head.length);
  const tail = lastLines(rest, LINES_AT_END, LENGTH_AT_END);
  return { head, hidden: rest.slice(0, rest.length - tail.length), tail };
}

/** The next part of the hidden text. */
export function nextOf(hidden: string): string {
  return firstLines(hidden, LINES_SHOWN, LENGTH_SHOWN);
}

/** The number of lines that are not shown, or of characters for a part of one line. */
export function hiddenWords(text: string): string {
  const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  return lines > 1 ? t("output.lines-hidden", { n: lines }) : t("output.characters-hidden", { n: text.length });
}

function firstLines(text: string, lines: number, length: number): string {
  let end = 0;
  for (let count = 0; count < lines && end < text.length; count++) {
    const next = text.indexOf("\n", end);
    const after = next < 0 ? text.length : next + 1;
    if (after > length) {
      // One line that is too long: a part of it.
      return end > 0 ? text.slice(0, end) : whole(text.slice(0, length));
    }
    end = after;
  }
  return text.slice(0, end);
}

function lastLines(text: string, lines: number, length: number): string {
  let start = text.length;
  for (let count = 0; count < lines && start > 0; count++) {
    const before = start < 2 ? 0 : text.lastIndexOf("\n", start - 2) + 1;
    if (text.length - before > length) return text.slice(start);
    start = before;
  }
  return text.slice(start);
}

function hasAtMost(text: string, lines: number): boolean {
  let at = -1;
  for (let count = 0; count < lines; count++) {
    at = text.indexOf("\n", at + 1);
    if (at < 0 || at === text.length - 1) return true;
  }
  return false;
}
