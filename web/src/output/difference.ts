// The difference between the expected output and that of a run, line by line;
// loaded when there is one.

import { diffArrays } from "diff";

import "../styles/difference.css";
import { element } from "../dom";
import { t } from "../messages";
import { linesOf } from "../run/expected";
import { plainText } from "./ansi";

/** A line of both, of the expected output alone, of the own output alone, or a number of lines that are not shown. */
export type Row =
  | { kind: "same" | "expected" | "own"; text: string; mark: readonly [from: number, to: number] }
  | { kind: "gap"; count: number };

/** Equal lines around a difference that are shown. */
const CONTEXT = 3;
const ROWS_SHOWN = 300;
/** Beyond this many changed lines, or this time, lines of the same number are compared. */
const MAX_CHANGES = 1000;
const MAX_MILLISECONDS = 500;
const LENGTH_SHOWN = 1000;

export function differenceOf(expected: string, stdout: string): HTMLElement {
  const body = element("tbody");
  for (const row of rowsOf(linesOf(expected), linesOf(plainText(stdout)))) body.append(lineOf(row));
  const legend = element("p", { class: "legend" }, t("output.difference-legend"));
  const box = element("div", { class: "difference-box", role: "group", "aria-label": t("output.difference"), tabindex: "0" });
  box.append(element("table", { "aria-label": t("output.difference-table") }, body));
  return element("section", { class: "stream difference" }, element("h2", {}, t("output.difference")), legend, box);
}

/** The rows of the view. */
export function rowsOf(expected: readonly string[], own: readonly string[]): Row[] {
  const rows = blocksOf(expected, own).flatMap(([theirs, ours]) => {
    if (theirs === ours) return theirs.map((text): Row => ({ kind: "same", text, mark: [0, 0] }));
    return [...side("expected", theirs, ours), ...side("own", ours, theirs)];
  });
  const near = folded(rows);
  if (near.length <= ROWS_SHOWN) return near;
  return [...near.slice(0, ROWS_SHOWN), { kind: "gap", count: near.length - ROWS_SHOWN }];
}

type Lines = readonly string[];

/** Pairs of blocks, of the expected and the own lines; equal ones are the same list. */
function blocksOf(expected: Lines, own: Lines): [Lines, Lines][] {
  const changes = diffArrays([...expected], [...own], { maxEditLength: MAX_CHANGES, timeout: MAX_MILLISECONDS });
  if (changes === undefined) return byNumber(expected, own);
  const blocks: [Lines, Lines][] = [];
  let removed: Lines = [];
  for (const change of changes) {
    if (change.removed) {
      removed = change.value;
    } else if (change.added) {
      blocks.push([removed, change.value]);
      removed = [];
    } else {
      if (removed.length > 0) blocks.push([removed, []]);
      removed = [];
      blocks.push([change.value, change.value]);
    }
  }
  if (removed.length > 0) blocks.push([removed, []]);
  return blocks;
}

function byNumber(expected: Lines, own: Lines): [Lines, Lines][] {
  return Array.from({ length: Math.max(expected.length, own.length) }, (_, index): [Lines, Lines] => {
    const theirs = expected.slice(index, index + 1);
    const ours = own.slice(index, index + 1);
    return [theirs, theirs[0] === ours[0] ? theirs : ours];
  });
}

function side(kind: "expected" | "own", lines: Lines, others: Lines): Row[] {
  return lines.map((text, index) => ({ kind, text, mark: others[index] === undefined ? [0, 0] : changed(text, others[index]) }));
}

/** The part of `text` between what it has in common with `other` at its beginning and at its end. */
function changed(text: string, other: string): [number, number] {
  const least = Math.min(text.length, other.length);
  let from = 0;
  while (from < least && text[from] === other[from]) from++;
  let behind = 0;
  while (behind < least - from && text.at(-1 - behind) === other.at(-1 - behind)) behind++;
  const to = text.length - behind;
  // Not half a character.
  const isHalf = (at: number) => /[\udc00-\udfff]/.test(text.charAt(at));
  return [isHalf(from) ? from - 1 : from, isHalf(to) ? to + 1 : to];
}

/** Without equal lines that are far from a difference. */
function folded(rows: readonly Row[]): Row[] {
  const isNear = rows.map(() => false);
  rows.forEach((row, index) => {
    if (row.kind !== "same") isNear.fill(true, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
  });
  const shown: Row[] = [];
  rows.forEach((row, index) => {
    const last = shown.at(-1);
    if (isNear[index] === true) shown.push(row);
    else if (last?.kind === "gap") last.count += 1;
    else shown.push({ kind: "gap", count: 1 });
  });
  return shown;
}

const SIGNS = { same: [" ", "output.row-both"], expected: ["-", "output.row-expected"], own: ["+", "output.row-own"] } as const;

function lineOf(row: Row): HTMLElement {
  if (row.kind === "gap") {
    return element("tr", { class: "gap" }, element("td", { colspan: "2" }, t("output.more-lines", { n: row.count })));
  }
  const [sign, key] = SIGNS[row.kind];
  const name = element("th", { scope: "row" }, element("span", { "aria-hidden": "true" }, sign), element("span", { class: "unseen" }, t(key)));
  return element("tr", { class: row.kind }, name, element("td", {}, ...textOf(row)));
}

/** The text with its mark; blanks that are marked, or at the end, are seen. */
function textOf({ kind, text: whole, mark }: Extract<Row, { text: string }>): (Node | string)[] {
  // The beginning of a long text is left out, but not its mark.
  const start = whole.length > LENGTH_SHOWN ? Math.max(0, mark[0] - LENGTH_SHOWN / 2) : 0;
  const text = whole.slice(start, start + LENGTH_SHOWN);
  const [from, to] = mark.map((at) => Math.min(at - start, text.length)) as [number, number];
  const isDifferent = kind !== "same";
  const end = isDifferent && start + LENGTH_SHOWN >= whole.length ? text.search(/[ \t]+$/) : -1;
  const trail = end < 0 ? text.length : end;
  const cuts = [...new Set([0, from, to, trail, text.length])].sort((one, other) => one - other);
  const parts = cuts.slice(1).map((cut, index): Node | string => {
    const before = cuts[index] ?? 0;
    const part = text.slice(before, cut);
    const isMarked = from <= before && cut <= to;
    if (!isMarked && before < trail) return part;
    return element(isMarked ? "mark" : "span", { class: "blanks" }, seen(part));
  });
  if (isDifferent && text === "") parts.push(element("span", { class: "blanks" }, "↵"), element("span", { class: "unseen" }, t("output.empty-line")));
  if (trail < text.length) parts.push(element("span", { class: "unseen" }, t("output.blanks", { n: text.length - trail })));
  return [...(start > 0 ? ["…"] : []), ...parts, ...(start + LENGTH_SHOWN < whole.length ? ["…"] : [])];
}

function seen(text: string): string {
  return text.replaceAll(" ", "·").replaceAll("\t", "→");
}
