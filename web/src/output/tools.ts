// The tools of the output. In a narrow bar they stand in a box that one button opens.

import { byId, element } from "../dom";
import { t } from "../messages";
import { copied } from "../share/clipboard";
import { download } from "../share/download";
import type { Reader } from "../store/reader";
import { icon, type IconName } from "./icons";

export interface ToolsOptions {
  /** The text to copy and to save. */
  text: () => string;
  clear: () => void;
  reader: Reader;
}

const FLASH_MS = 1500;

export class OutputTools {
  /** The button and the box. */
  readonly elements: readonly HTMLElement[];
  private readonly toggle = toolButton("more", t("output.tools"), t("output.tools-hint"));
  private readonly box = element("div", { class: "output-tools", role: "group", "aria-label": t("output.tools") });
  private readonly options: ToolsOptions;

  constructor(options: ToolsOptions) {
    this.options = options;
    this.toggle.classList.add("tools-toggle");
    this.toggle.setAttribute("aria-expanded", "false");
    this.toggle.addEventListener("click", () => this.open(!this.box.classList.contains("open")));
    this.box.append(this.wrapTool(), this.copyTool(), this.saveTool(), this.clearTool());
    this.elements = [this.toggle, this.box];
    for (const part of this.elements) {
      part.addEventListener("keydown", (event) => this.onKey(event));
      part.addEventListener("focusout", ({ relatedTarget }) => {
        const isInside = this.elements.some((one) => relatedTarget instanceof Node && one.contains(relatedTarget));
        if (!isInside) this.open(false);
      });
    }
    this.show(false);
  }

  show(isShown: boolean): void {
    for (const part of this.elements) part.hidden = !isShown;
    this.open(false);
  }

  private open(isOpen: boolean): void {
    this.box.classList.toggle("open", isOpen);
    this.toggle.setAttribute("aria-expanded", String(isOpen));
  }

  private onKey(event: KeyboardEvent): void {
    if (event.key !== "Escape" || !this.box.classList.contains("open")) return;
    this.open(false);
    this.toggle.focus();
  }

  private wrapTool(): HTMLButtonElement {
    const { reader } = this.options;
    const made = toolButton("wrap", t("output.wrap"), t("output.wrap-hint"));
    const follow = () => made.setAttribute("aria-pressed", String(reader.wrapOutput));
    made.addEventListener("click", () => reader.choose({ wrapOutput: !reader.wrapOutput }));
    reader.changed.listen(follow);
    follow();
    return made;
  }

  private copyTool(): HTMLButtonElement {
    const made = toolButton("copy", t("output.copy"), t("output.copy-hint"));
    made.addEventListener("click", () => void copied(this.options.text()).then((isDone) => copyEnded(made, isDone)));
    return made;
  }

  private saveTool(): HTMLButtonElement {
    const made = toolButton("save", t("output.save"), t("output.save-hint"));
    made.addEventListener("click", () => download("output.txt", this.options.text()));
    return made;
  }

  private clearTool(): HTMLButtonElement {
    const made = toolButton("clear", t("output.clear"), t("output.clear-hint"));
    made.addEventListener("click", () => {
      this.options.clear();
      // The button that had the focus is hidden now.
      byId("run").focus({ preventScroll: true });
    });
    return made;
  }
}

/** If copying is blocked, the output is selected, so that Ctrl-C copies it. */
function copyEnded(tool: HTMLButtonElement, isDone: boolean): void {
  const show = (name: IconName, label: string) => tool.replaceChildren(icon(name), element("span", {}, label));
  show(isDone ? "done" : "failed", t(isDone ? "output.copied" : "output.copy-blocked"));
  setTimeout(() => show("copy", t("output.copy")), FLASH_MS);
  if (!isDone) getSelection()?.selectAllChildren(byId("streams"));
}

/** A button with an icon; its label is seen only if there is room, but always read. */
function toolButton(name: IconName, label: string, title: string): HTMLButtonElement {
  return element("button", { type: "button", class: "tool icon-tool", title }, icon(name), element("span", {}, label));
}
