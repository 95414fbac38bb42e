// Tells screen readers of new output, at most once a second: a region that
// changes with every write would never let them finish.

import { element } from "../dom";
import { t } from "../messages";

const MIN_PAUSE_MS = 1000;
/** Messages that come within this time are one announcement. */
const GATHER_MS = 100;
/** Of a longer text the end is read. */
const MAX_LENGTH = 1000;

export class Announcer {
  readonly element = element("div", { class: "unseen", role: "log", "aria-live": "polite", "aria-label": t("output.new") });
  private waiting = "";
  private lastMs = -Infinity;
  private timer: ReturnType<typeof setTimeout> | null = null;

  say(text: string): void {
    this.waiting += text;
    if (this.waiting.length > 2 * MAX_LENGTH) this.waiting = this.waiting.slice(-2 * MAX_LENGTH);
    const waitMs = Math.max(GATHER_MS, this.lastMs + MIN_PAUSE_MS - performance.now());
    this.timer ??= setTimeout(() => this.speak(), waitMs);
  }

  private speak(): void {
    this.timer = null;
    const text = this.waiting.trim();
    this.waiting = "";
    if (text === "") return;
    this.lastMs = performance.now();
    const end = text.length > MAX_LENGTH ? `… ${text.slice(-MAX_LENGTH)}` : text;
    this.element.replaceChildren(element("p", {}, end));
  }
}
