// The field for the name of a file.

import { byId, element, hasFocus } from "../dom";
import { t } from "../messages";
import { faultOfPath } from "../workspace";

export interface PathInputOptions {
  /** The present name; empty for a new file. */
  path: string;
  /** The names that are taken. */
  others: readonly string[];
  /** The tab that it covers, in CSS pixels; `null` to stand after the last tab. */
  place: { left: number; width: number } | null;
  /** Gets the new name, or `null`, and whether the field had the focus until the end. */
  done: (path: string | null, hadFocus: boolean) => void;
}

export class PathInput {
  readonly element: HTMLInputElement;
  private readonly fault = byId("tab-fault");
  private readonly options: PathInputOptions;
  private isDone = false;

  constructor(options: PathInputOptions) {
    this.options = options;
    this.element = element("input", {
      class: "tab-name",
      value: options.path,
      "aria-label": t("start.file-name"),
      "aria-describedby": "tab-fault",
      autocapitalize: "off",
      autocomplete: "off",
      autocorrect: "off",
      spellcheck: "false",
      enterkeyhint: "done",
    });
    if (options.place !== null) {
      this.element.classList.add("over-tab");
      this.element.style.setProperty("left", `${Math.max(0, options.place.left)}px`);
      this.element.style.setProperty("min-width", `${options.place.width}px`);
    }
    this.element.addEventListener("keydown", (event) => {
      // The keys are the input method's. Of the one that ends a composition, Safari says so by its code alone.
      if (event.isComposing || event.keyCode === 229) return;
      if (event.key === "Enter") this.take();
      if (event.key === "Escape") this.end(null);
    });
    // A person who goes on elsewhere accepts the name in the field, if it is allowed.
    this.element.addEventListener("blur", () => this.end(this.faultNow() === null ? this.path : null));
  }

  /** To be called when it is on the page. */
  start(): void {
    this.element.focus({ preventScroll: true });
    this.element.select();
  }

  /** Ends it without a name. */
  cancel(): void {
    this.end(null);
  }

  /** Keyboards of phones add a blank after a word. */
  private get path(): string {
    return this.element.value.trim();
  }

  private faultNow(): string | null {
    return faultOfPath(this.path, this.options.others);
  }

  private take(): void {
    const fault = this.faultNow();
    if (fault === null) return this.end(this.path);
    this.fault.textContent = fault;
    this.element.setAttribute("aria-invalid", "true");
  }

  private end(path: string | null): void {
    if (this.isDone) return;
    this.isDone = true;
    this.fault.textContent = "";
    const hadFocus = hasFocus(this.element);
    this.element.remove();
    this.options.done(path === this.options.path ? null : path, hadFocus);
  }
}
