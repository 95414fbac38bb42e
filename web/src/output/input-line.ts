// The line below a live run: Enter sends it, Ctrl+D ends the input, and the arrow
// up brings earlier lines back.

import { element } from "../dom";
import type { LiveRun } from "../run/live";

const MAX_HISTORY = 100;

export class InputLine {
  readonly element = element("form", { class: "live-input", autocomplete: "off" });
  private readonly field = element("input", {
    id: "live-input", type: "text", spellcheck: "false", autocapitalize: "off", autocorrect: "off", enterkeyhint: "send",
  });
  private readonly fault = element("p", { class: "live-fault", role: "status" });
  private readonly live: LiveRun;
  private readonly history: string[];
  /** The place in the history; its length for a new line. */
  private at: number;

  /** `history` has the lines of earlier runs, and gets those of this one. */
  constructor(live: LiveRun, history: string[]) {
    this.live = live;
    this.history = history;
    this.at = history.length;
    const end = element("button", { type: "button", title: "Ctrl+D" }, "End input");
    end.addEventListener("click", () => this.end());
    this.element.append(
      element("label", { for: "live-input" }, "Input"),
      this.field,
      element("button", { type: "submit", title: "Enter" }, "Send"),
      end,
      this.fault,
    );
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send([this.field.value], "");
    });
    this.field.addEventListener("keydown", (event) => this.onKey(event));
    this.field.addEventListener("paste", (event) => this.paste(event));
    live.failed.listen((words) => (this.fault.textContent = words));
  }

  focus(): void {
    this.field.focus({ preventScroll: true });
  }

  /** Sends these lines; `rest` stays in the field. */
  private send(lines: readonly string[], rest: string): void {
    for (const line of lines) {
      if (line !== "" && line !== this.history.at(-1)) this.history.push(line);
      if (this.history.length > MAX_HISTORY) this.history.shift();
    }
    this.at = this.history.length;
    this.field.value = rest;
    this.fault.textContent = "";
    this.live.send(lines.map((line) => `${line}\n`).join(""));
  }

  /** Sends the whole lines of a text, as a terminal does; the field would join them to one. */
  private paste(event: ClipboardEvent): void {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    const { value, selectionStart, selectionEnd } = this.field;
    const before = value.slice(0, selectionStart ?? value.length);
    const lines = `${before}${text}${value.slice(selectionEnd ?? value.length)}`.split(/\r\n?|\n/);
    const rest = lines.pop() ?? "";
    if (lines.length === 0) return;
    event.preventDefault();
    this.send(lines, rest);
  }

  /** What stands in the line is sent before, as a terminal does. */
  private end(): void {
    if (this.field.value !== "") this.live.send(this.field.value);
    this.field.value = "";
    this.live.end();
  }

  private onKey(event: KeyboardEvent): void {
    const { key, ctrlKey, metaKey, altKey, shiftKey, isComposing } = event;
    if (isComposing || metaKey || altKey || shiftKey) return;
    if (ctrlKey && key.toLowerCase() === "d") this.end();
    else if (!ctrlKey && key === "ArrowUp") this.recall(-1);
    else if (!ctrlKey && key === "ArrowDown") this.recall(1);
    else return;
    event.preventDefault();
  }

  private recall(by: 1 | -1): void {
    this.at = Math.min(Math.max(this.at + by, 0), this.history.length);
    const line = this.history[this.at] ?? "";
    this.field.value = line;
    this.field.setSelectionRange(line.length, line.length);
  }
}
