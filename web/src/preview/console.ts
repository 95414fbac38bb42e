// The console of a preview: the messages of the page by level, each with its
// line in the person's files.

import { element } from "../dom";
import { t, type Key } from "../messages";
import { MAX_ENTRIES, type Entry, type FromFrame, type Level } from "./protocol";
import { Prompt } from "./prompt";
import { placeButton, tableElement, valueElement, type Navigator } from "./values";

const SPOKEN: Readonly<Record<Level, Key | null>> = {
  debug: "console.debug", log: null, info: "console.info", warn: "console.warning", error: "console.error",
};
const MAX_INDENT = 6;
/** Cells of all tables and calls of all errors. The browser would take seconds to lay out more. */
const MAX_CELLS = 20_000;
/** Pixels from the end of the list that count as its end. */
const NEAR_END = 16;
const FILTERS = [
  ["all", "console.all", "console.all-hint"],
  ["warn", "console.warnings", "console.warnings-hint"],
  ["error", "console.errors", "console.errors-hint"],
] as const;

interface Last {
  line: HTMLElement;
  /** Identifies the entry; equal ones are counted. */
  key: string;
  count: number;
}

export class ConsolePanel {
  readonly element: HTMLElement;

  private readonly list = element("ol", {});
  private readonly log: HTMLElement;
  private readonly summary = element("span", { class: "quiet-words" });
  private readonly navigator: Navigator;
  private waiting: HTMLElement[] = [];
  private last: Last | null = null;
  private shown = 0;
  private cells = 0;
  private dropped = 0;
  private errors = 0;
  private warnings = 0;

  /** `execute` gets the lines that the person writes. */
  constructor(navigator: Navigator, execute: (code: string) => void) {
    this.navigator = navigator;
    const clear = element("button", { type: "button", class: "quiet-button" }, t("console.clear"));
    clear.addEventListener("click", () => this.clear());
    const title = element("h2", {}, t("console.title"));
    const bar = element("div", { class: "console-bar" }, title, this.summary, this.filter(), clear);
    const region = { class: "console-log", role: "log", tabindex: "0", "aria-label": t("console.messages") };
    this.log = element("div", region, this.list);
    this.element = element("section", { class: "console", "aria-label": t("console.title") }, bar, this.log, new Prompt(execute).element);
    this.count();
  }

  take(message: FromFrame): void {
    switch (message.type) {
      case "entry":
        return this.add(message.entry);
      case "repeat":
        return this.repeat(message.count);
      case "dropped":
        this.dropped += message.count;
        return this.count();
      case "clear":
        return this.clear();
      default:
    }
  }

  /** Shows a line that the person wrote. */
  echo(code: string): void {
    this.last = null;
    const words = element("div", { class: "words" }, element("span", { class: "unseen" }, `${t("console.asked")} `), code);
    if (this.waiting.push(element("li", { class: "asked" }, words)) === 1) setTimeout(() => this.append(), 16);
  }

  clear(): void {
    this.list.replaceChildren();
    this.waiting = [];
    this.last = null;
    this.shown = this.cells = this.dropped = this.errors = this.warnings = 0;
    this.count();
  }

  private filter(): HTMLElement {
    const buttons = FILTERS.map(([value, label, title]) => {
      const attributes = { type: "button", class: "quiet-button", title: t(title), "aria-pressed": String(value === "all") };
      const button = element("button", attributes, t(label));
      button.addEventListener("click", () => {
        this.list.dataset["filter"] = value;
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      });
      return button;
    });
    return element("div", { class: "choices", role: "group", "aria-label": t("console.to-show") }, ...buttons);
  }

  private add(entry: Entry): void {
    const key = JSON.stringify(entry);
    if (this.last?.key === key) return this.repeat(1);
    const cells = (entry.table?.columns.length ?? 0) * (entry.table?.rows.length ?? 0);
    // Our code in the frame sends no more, but other code there could.
    if (this.shown >= MAX_ENTRIES || this.cells + cells > MAX_CELLS) {
      this.dropped += 1;
      return this.count();
    }
    const line = this.line(entry);
    const calls = line.querySelectorAll(".calls > li").length;
    if (this.cells + cells + calls > MAX_CELLS) {
      this.dropped += 1;
      return this.count();
    }
    this.shown += 1;
    this.cells += cells + calls;
    this.last = { line, key, count: 1 };
    this.tally(entry.level, 1);
    // Thousands can come at once: they are added together.
    if (this.waiting.push(line) === 1) setTimeout(() => this.append(), 16);
  }

  /** Scrolls to the newest entry, unless the person looks at older ones. */
  private append(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.log;
    this.list.append(...this.waiting.splice(0));
    if (scrollHeight - scrollTop - clientHeight < NEAR_END) this.log.scrollTop = this.log.scrollHeight;
  }

  private repeat(count: number): void {
    if (this.last === null) return;
    const { line } = this.last;
    this.last.count += count;
    const badge = line.querySelector(".repeats") ?? line.appendChild(element("span", { class: "repeats" }));
    badge.textContent = `${this.last.count}×`;
    this.tally(line.dataset["level"] as Level, count);
  }

  private line(entry: Entry): HTMLElement {
    const { level, values, table, depth, stack } = entry;
    const content = table === null ? values.map((value) => valueElement(value, this.navigator)) : [tableElement(table)];
    const spoken = SPOKEN[level];
    const words = element("div", { class: "words" }, element("span", { class: "unseen" }, spoken === null ? "" : `${t(spoken)} `));
    content.forEach((one, index) => words.append(index > 0 ? " " : "", one));
    const indent = depth > 0 ? ` in-group-${Math.min(depth, MAX_INDENT)}` : "";
    const line = element("li", { class: `level-${level}${indent}`, "data-level": level }, words);
    const place = this.navigator.own(stack)[0]?.place;
    if (place !== undefined) line.append(placeButton(place, this.navigator));
    return line;
  }

  private tally(level: Level, count: number): void {
    if (level === "error") this.errors += count;
    if (level === "warn") this.warnings += count;
    this.count();
  }

  private count(): void {
    const some = (n: number, key: Key) => (n === 0 ? [] : [t(key, { n })]);
    const counts = [
      ...some(this.errors, "console.error-count"),
      ...some(this.warnings, "console.warning-count"),
      ...some(this.dropped, "console.hidden-count"),
    ];
    this.summary.textContent = counts.length === 0 ? "" : counts.reduce((first, second) => t("console.counts", { first, second }));
  }
}
