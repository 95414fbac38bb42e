// The line below a live run: Enter sends it, Ctrl+D ends the input, and the arrow
// up brings earlier lines back.

import { element, letterOf } from "../dom";
import { History } from "../history";
import { t } from "../messages";
import type { LiveRun } from "../run/live";

/** The text that was typed in this visit. */
export interface Typing {
  lines: string[];
  /** Text that the last run did not get; the line of the next one begins with it. */
  draft: string;
}

export class InputLine {
  readonly element = element("form", { class: "live-input", autocomplete: "off" });
  private readonly field = element("input", {
    id: "live-input", type: "text", spellcheck: "false", autocapitalize: "off", autocorrect: "off", enterkeyhint: "send",
  });
  private readonly fault = element("p", { class: "live-fault", role: "status" });
  private readonly live: LiveRun;
  private readonly typing: Typing;
  private readonly history: History;

  /** `typing` is that of earlier runs, and of this one from now on. */
  constructor(live: LiveRun, typing: Typing) {
    this.live = live;
    this.typing = typing;
    this.history = new History(typing.lines);
    this.field.value = typing.draft;
    typing.draft = "";
    const send = element("button", { type: "submit", title: t("page.enter") }, t("live.send"));
    // The field keeps the focus, so the keyboard of a phone stays open.
    for (const type of ["pointerdown", "mousedown"]) send.addEventListener(type, (event) => event.preventDefault());
    const end = element("button", { type: "button", title: `${t("page.ctrl")}+D` }, t("live.end-input"));
    end.addEventListener("click", () => void this.end());
    this.element.append(
      element("label", { for: "live-input" }, t("page.input")),
      this.field,
      send,
      end,
      this.fault,
    );
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.send([this.field.value], "");
    });
    this.field.addEventListener("keydown", (event) => this.onKey(event));
    this.field.addEventListener("paste", (event) => this.paste(event));
  }

  focus(): void {
    this.field.focus({ preventScroll: true });
  }

  /** Removes the line; its text stands in the line of the next run. */
  leave(): void {
    this.typing.draft = this.field.value;
    this.element.remove();
  }

  /** Sends these lines; `rest` stays in the field. */
  private async send(lines: readonly string[], rest: string): Promise<void> {
    if (!this.live.isOpen) return;
    for (const line of lines) if (line !== "") this.history.add(line);
    this.field.value = rest;
    this.fault.textContent = "";
    this.keep(lines.join("\n"), await this.live.send(lines.map((line) => `${line}\n`).join("")));
  }

  /** Puts text that was not sent back into the field, if it fits there; the history has lines of it. */
  private keep(text: string, fault: string | null): void {
    if (fault === null) return;
    this.fault.textContent = fault;
    if (this.field.value === "" && !text.includes("\n")) this.field.value = text;
    if (!this.element.isConnected) this.typing.draft = this.field.value;
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
    void this.send(lines, rest);
  }

  /** The text in the line is sent before, as a terminal does. */
  private async end(): Promise<void> {
    if (!this.live.isOpen) return;
    const rest = this.field.value;
    this.field.value = "";
    const sent = rest === "" ? null : this.live.send(rest);
    const fault = await this.live.end();
    this.keep((await sent) === null ? "" : rest, fault);
  }

  private onKey(event: KeyboardEvent): void {
    const { key, ctrlKey, metaKey, altKey, shiftKey, isComposing } = event;
    if (isComposing || metaKey || altKey || shiftKey) return;
    if (ctrlKey && letterOf(event) === "d") void this.end();
    else if (!ctrlKey && key === "ArrowUp") this.history.recall(this.field, -1);
    else if (!ctrlKey && key === "ArrowDown") this.history.recall(this.field, 1);
    else return;
    event.preventDefault();
  }
}
