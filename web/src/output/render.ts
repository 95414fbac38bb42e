// Shows the text of a stream: with its colours, with links to the lines of code
// that it names, and with result tables.

import type { MessageSettings } from "../config";
import { element } from "../dom";
import { placesIn, type Place, type Sources } from "../errors";
import { t } from "../messages";
import { copied } from "../share/clipboard";
import { pieces } from "./ansi";
import { LINE_CUT, ROWS_SHOWN, hiddenWords, nextOf, shownOf } from "./limits";
import { styled, type Anchor } from "./styled";
import type { QueryResult } from "../run/query-results";
import { withResults } from "./query-results";
import { csvOf, partsOf, type ResultTable } from "./tables";

/** Shows the text of one stream in `target`, and the results of statements if they are known. */
export type Renderer = (text: string, target: HTMLElement, results?: readonly QueryResult[]) => void;

/** Shows text with its colours; of a long one the beginning and the end. */
export const text: Renderer = (content, target) => put(content, target, () => []);

export interface Linking {
  messages: MessageSettings;
  /** The files as they were when the run began. */
  sources: () => Sources;
  /** Shows a line in the editor. */
  onJump: (path: string, line: number, column: number) => void;
}

/** Shows text in which the lines that it names are links to the code. */
export function linked(linking: Linking): Renderer {
  return (content, target) => put(content, target, links(linking));
}

/** Finds the lines that a text names, as links to the code. */
export function links({ messages, sources, onJump }: Linking): (plain: string) => Anchor[] {
  const known = sources();
  let count = 0;
  return (plain) =>
    placesIn(messages, plain, known).map((place) => ({
      start: place.start,
      end: place.end,
      wrap: (inner) => link(inner, place, count++ < TAB_STOPS, () => {
        const { path, line, column } = inText(place, known);
        onJump(path, line, column);
      }),
    }));
}

/** Shows tables of the mysql client, or better the results that it drew, with a switch to the original text. */
export const tables: Renderer = (content, target, results = []) => {
  const parts = withResults(partsOf(content), results);
  if (parts.every((part) => part.kind === "text")) return text(content, target);
  const drawn = element("div", { class: "tables" });
  const plain = element("div", { class: "drawn-tables", hidden: true });
  let number = 0;
  const room = new Room();
  for (const part of parts.slice(0, PARTS_SHOWN)) {
    if (part.kind === "table") {
      const name = t("output.result", { number: String(++number) });
      drawn.append(tableOf(part.table, room.partOf(part.table), name, copyTool(part.table, number)));
    } else if (part.kind === "change") drawn.append(element("p", { class: "change" }, part.text));
    else if (part.text.trim() !== "") text(part.text, drawn);
  }
  const rest = parts.slice(PARTS_SHOWN).map((part) => part.text);
  if (rest.length > 0) text(rest.join(""), drawn);
  target.append(drawn);
  // Rows that were changed are not printed.
  if (content === "") return;
  const toggle = button(t("output.plain"), t("output.plain-hint"));
  toggle.setAttribute("aria-pressed", "false");
  toggle.addEventListener("click", () => {
    const isPlain = toggle.getAttribute("aria-pressed") !== "true";
    if (isPlain && plain.childNodes.length === 0) text(content, plain);
    toggle.setAttribute("aria-pressed", String(isPlain));
    drawn.hidden = isPlain;
    plain.hidden = !isPlain;
  });
  drawn.before(element("div", { class: "stream-tools" }, toggle));
  target.append(plain);
};

/** A button of the output. */
export function button(label: string, title: string): HTMLButtonElement {
  return element("button", { type: "button", class: "tool", title }, label);
}

/** The links of one stream that Tab reaches; all can be clicked. */
const TAB_STOPS = 50;
/** Of all tables: the browser would take seconds to lay out more. */
const CELLS_SHOWN = 20_000;
const PARTS_SHOWN = 100;
/** A value up to this length is not wrapped. */
const SHORT = 40;

function put(content: string, target: HTMLElement, anchorsOf: (plain: string) => Anchor[]): void {
  const block = (raw: string): DocumentFragment => {
    const parts = pieces(raw, LINE_CUT);
    return styled(parts, anchorsOf(parts.map((part) => part.text).join("")));
  };
  const { head, hidden, tail } = shownOf(content);
  const preOf = (name: string, raw: string) =>
    element("pre", { tabindex: "0", role: "group", "aria-label": name }, block(raw));
  const pre = preOf(t("output.text"), head);
  target.append(pre);
  if (hidden === "") return;
  let left = hidden;
  const words = element("span", {}, hiddenWords(left));
  const more = button(t("output.more"), t("output.more-hint"));
  const gap = element("div", { class: "hidden-lines" }, words, more);
  more.addEventListener("click", () => {
    const part = nextOf(left);
    left = left.slice(part.length);
    pre.append(block(part));
    words.textContent = hiddenWords(left);
    if (left !== "") return;
    // The button with the focus disappears.
    if (document.activeElement === more) pre.focus({ preventScroll: true });
    gap.remove();
  });
  target.append(gap, preOf(t("output.text-end"), tail));
}

/** If only the line is known, its first character. */
function inText(place: Place, sources: Sources): Place {
  const line = sources.line(place.path, place.line) ?? "";
  return place.column > 0 ? place : { ...place, column: line.search(/\S|$/) + 1 };
}

/** Not a button element: browsers leave the text of buttons out when text is copied. */
function link(inner: DocumentFragment, place: Place, isTabStop: boolean, onJump: () => void): HTMLElement {
  const { path, line } = place;
  const made = element("span", {
    role: "button",
    class: "place",
    tabindex: isTabStop ? "0" : "-1",
    title: t("output.go", { line: String(line), path }),
  });
  made.append(inner);
  made.addEventListener("click", () => {
    // The end of a selection is not a click.
    if (getSelection()?.isCollapsed !== false) onJump();
  });
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    onJump();
  });
  return made;
}

type TablePart = Pick<ResultTable, "columns" | "rows">;

/** The cells that tables may still have. */
export class Room {
  private cells = CELLS_SHOWN;

  /** The columns and rows that are shown. */
  partOf({ columns, rows }: ResultTable): TablePart {
    if (columns.length > this.cells) return { columns: [], rows: [] };
    const shown = rows.slice(0, Math.min(ROWS_SHOWN, Math.floor(this.cells / columns.length)));
    this.cells -= (1 + shown.length) * columns.length;
    return { columns, rows: shown };
  }
}

function copyTool(result: ResultTable, number: number): HTMLButtonElement {
  // The accessible name begins with the visible label, for speech input (WCAG 2.5.3).
  const csv = button(t("output.csv"), t("output.csv-of", { number: String(number) }));
  csv.setAttribute("aria-label", csv.title);
  csv.addEventListener("click", () => void copied(csvOf(result)).then((isDone) => flash(csv, isDone)));
  return csv;
}

/** A table of which this part is shown. */
export function tableOf(result: ResultTable, { columns, rows }: TablePart, name: string, ...tools: HTMLElement[]): HTMLElement {
  const { isNumeric, count = result.rows.length } = result;
  const isWhole = count === rows.length;
  const key = isWhole ? "output.table" : rows.length === 0 ? "output.table-hidden" : "output.table-first";
  const title = t(key, { name, n: count, shown: rows.length });
  const caption = element("caption", {}, element("span", {}, title), ...tools);
  const head = element("tr", {});
  columns.forEach((name, column) => {
    head.append(element("th", { scope: "col", class: isNumeric[column] === true ? "number" : false }, name));
  });
  const body = element("tbody");
  for (const row of rows) {
    const line = element("tr");
    row.forEach((value, column) => {
      const isShort = value === null || (value.length <= SHORT && !value.includes("\n"));
      const names = [...(isNumeric[column] === true ? ["number"] : []), ...(isShort ? ["short"] : [])];
      line.append(element("td", { class: names.join(" ") }, value === null ? nothing(result) : long(value)));
    });
    body.append(line);
  }
  // The button in the caption must not be a part of the name.
  const table = element("table", { "aria-label": title }, caption, element("thead", {}, head), body);
  return element("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": name }, table);
}

/** Those who listen hear that it is not the text, if that is certain. */
function nothing({ isExact = false }: ResultTable): HTMLElement {
  return element("span", { class: "null" }, "NULL", ...(isExact ? [element("span", { class: "unseen" }, t("output.no-value"))] : []));
}

function long(value: string): string {
  return value.length > 2000 ? `${value.slice(0, 2000)}…` : value;
}

/** Shows on the button for a moment whether copying worked. */
export function flash(target: HTMLButtonElement, isDone: boolean): void {
  const label = target.dataset["label"] ?? target.textContent ?? "";
  target.dataset["label"] = label;
  target.textContent = t(isDone ? "output.copied" : "output.copy-blocked");
  setTimeout(() => (target.textContent = label), 1500);
}
