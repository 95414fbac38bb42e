// The line of the console in which the person writes code that the page executes.

import { element } from "../dom";
import { History } from "../history";
import { t } from "../messages";
import { MAX_CODE } from "./protocol";

export class Prompt {
  readonly element = element("form", { class: "console-prompt", autocomplete: "off" });
  private readonly field = element("input", {
    type: "text", "aria-label": t("console.prompt"), placeholder: t("console.prompt"), spellcheck: "false",
    autocapitalize: "off", autocorrect: "off", enterkeyhint: "send", maxlength: String(MAX_CODE),
  });
  private readonly history = new History();

  constructor(execute: (code: string) => void) {
    this.element.append(element("span", { "aria-hidden": "true" }, "›"), this.field);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      const code = this.field.value;
      if (code.trim() === "") return;
      this.history.add(code);
      this.field.value = "";
      execute(code);
    });
    this.field.addEventListener("keydown", (event) => {
      const { key, ctrlKey, metaKey, altKey, shiftKey, isComposing } = event;
      if (isComposing || ctrlKey || metaKey || altKey || shiftKey) return;
      if (key !== "ArrowUp" && key !== "ArrowDown") return;
      event.preventDefault();
      this.history.recall(this.field, key === "ArrowUp" ? -1 : 1);
    });
  }
}
