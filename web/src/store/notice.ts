// One short message over the code, with what can be done about it. It goes
// when it is closed or answered, or when the person types on.

import { element, hasFocus } from "../dom";

export interface Action {
  label: string;
  act: () => void;
}

export class Notice {
  private readonly box = element("div", { class: "notice" });
  // Read out when its text changes, since it has been there before.
  private readonly words = element("p", { role: "status" });
  private readonly actions = element("div", { class: "notice-actions" });
  private readonly focusAfter: () => void;

  /** `focusAfter` takes the focus when it was inside of what goes. */
  constructor(parent: HTMLElement, focusAfter: () => void) {
    this.focusAfter = focusAfter;
    this.box.append(this.words, this.actions);
    this.box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.hide();
    });
    parent.append(this.box);
  }

  show(words: string, ...actions: Action[]): void {
    const hadFocus = hasFocus(this.box);
    this.words.textContent = words;
    const buttons = actions.map(({ label, act }) => this.button(label, act));
    this.actions.replaceChildren(...buttons, this.button("Close", () => undefined));
    this.box.classList.add("shown");
    if (hadFocus) this.actions.querySelector("button")?.focus();
  }

  hide(): void {
    const hadFocus = hasFocus(this.box);
    this.box.classList.remove("shown");
    this.words.textContent = "";
    this.actions.replaceChildren();
    if (hadFocus) this.focusAfter();
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
