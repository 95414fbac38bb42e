// One short message over the code, with actions. It disappears when it is
// closed, when an action is chosen, or when the person types; without an action
// also by itself. Nobody has to hurry for an action.

import { element, hasFocus } from "../dom";
import { t } from "../messages";

export interface Action {
  label: string;
  act: () => void;
}

/** Long enough to read two sentences. */
const SHOWN_MS = 8000;

export class Notice {
  private readonly box = element("div", { class: "notice" });
  // Screen readers announce it when its text changes, since the element is there before.
  private readonly words = element("p", { role: "status" });
  private readonly actions = element("div", { class: "notice-actions" });
  private readonly focusAfter: () => void;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private goesAway = false;

  /** `focusAfter` moves the focus if it was in the notice when that disappears. */
  constructor(parent: HTMLElement, focusAfter: () => void) {
    this.focusAfter = focusAfter;
    this.box.append(this.words, this.actions);
    this.box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.hide();
    });
    // It stays as long as the person is at it.
    for (const type of ["pointerenter", "focusin"]) this.box.addEventListener(type, () => clearTimeout(this.timer));
    for (const type of ["pointerleave", "focusout"]) this.box.addEventListener(type, () => this.countDown());
    parent.append(this.box);
  }

  show(words: string, ...actions: Action[]): void {
    const hadFocus = hasFocus(this.box);
    this.words.textContent = words;
    const buttons = actions.map(({ label, act }) => this.button(label, act));
    this.actions.replaceChildren(...buttons, this.button(t("start.close"), () => undefined));
    this.box.classList.add("shown");
    this.goesAway = actions.length === 0;
    this.countDown();
    if (hadFocus) this.actions.querySelector("button")?.focus();
  }

  hide(): void {
    clearTimeout(this.timer);
    this.goesAway = false;
    const hadFocus = hasFocus(this.box);
    this.box.classList.remove("shown");
    this.words.textContent = "";
    this.actions.replaceChildren();
    if (hadFocus) this.focusAfter();
  }

  private countDown(): void {
    clearTimeout(this.timer);
    if (this.goesAway) this.timer = setTimeout(() => this.leave(), SHOWN_MS);
  }

  private leave(): void {
    if (!this.box.matches(":hover, :focus-within")) this.hide();
  }

  private button(label: string, act: () => void): HTMLElement {
    const button = element("button", { type: "button" }, label);
    button.addEventListener("click", () => {
      this.hide();
      act();
    });
    return button;
  }
}
