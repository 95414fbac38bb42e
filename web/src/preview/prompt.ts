// The line of the console in which the person writes code that the page executes.

import { element } from "../dom";
import { MAX_CODE } from "./protocol";

const MAX_HISTORY = 100;

export class Prompt {
  readonly element = element("form", { class: "console-prompt", autocomplete: "off" });
  private readonly field = element("input", {
    type: "text", "aria-label": "Code to execute in the page", placeholder: "Code to execute in the page", spellcheck: "false",
    autocapitalize: "off", autocorrect: "off", enterkeyhint: "send", maxlength: String(MAX_CODE),
  });
  private readonly history: string[] = [];
  /** The place in the history; its length for a new line. */
  private at = 0;

  constructor(execute: (code: string) => void) {
    this.element.append(element("span", { "aria-hidden": "true" }, "›"), this.field);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      const code = this.field.value;
      if (code.trim() === "") return;
      if (code !== this.history.at(-1)) this.history.push(code);
      if (this.history.length > MAX_HISTORY) this.history.shift();
      this.at = this.history.length;
      this.field.value = "";
      execute(code);
    });
    this.field.addEventListener("keydown", (event) => {
      const { key, ctrlKey, metaKey, altKey, shiftKey, isComposing } = event;
      if (isComposing || ctrlKey || metaKey || altKey || shiftKey) return;
      if (key !== "ArrowUp" && key !== "ArrowDown") return;
      event.preventDefault();
      this.recall(key === "ArrowUp" ? -1 : 1);
    });
  }

  private recall(by: 1 | -1): void {
    this.at = Math.min(Math.max(this.at + by, 0), this.history.length);
    const line = this.history[this.at] ?? "";
    this.field.value = line;
    this.field.setSelectionRange(line.length, line.length);
  }
}
