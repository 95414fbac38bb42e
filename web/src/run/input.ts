// The box for standard input, which a button of the result bar opens, with a hint
// if a program needed input.

import { byId } from "../dom";
import type { Workspace } from "../workspace";

export class InputBox {
  private readonly toggle = byId("input-toggle");
  private readonly box = byId("input");
  private readonly field = byId("stdin") as HTMLTextAreaElement;
  private readonly hint = byId("input-hint");

  constructor(workspace: Workspace) {
    this.toggle.addEventListener("click", () => this.setOpen(this.box.hidden !== false));
    this.field.addEventListener("input", () => {
      workspace.setStdin(this.field.value);
      this.hint.textContent = "";
      this.mark();
    });
    // From restored edits, a link, or the embedding page.
    workspace.edited.listen(() => this.show(workspace.stdin));
    this.show(workspace.stdin);
  }

  /** Opens the box with a hint after a run that needed input; `null` removes the hint. Does not move the focus. */
  ask(words: string | null): void {
    this.hint.textContent = words ?? "";
    if (words !== null) this.open();
  }

  open(): void {
    this.setOpen(true);
  }

  /** Removes the hint, and closes the box if it is empty: the person types elsewhere. */
  leave(): void {
    this.hint.textContent = "";
    if (this.field.value === "") this.setOpen(false);
  }

  private setOpen(isOpen: boolean): void {
    this.box.hidden = !isOpen;
    this.toggle.setAttribute("aria-expanded", String(isOpen));
  }

  private show(stdin: string): void {
    // As the field will have it.
    const text = stdin.replace(/\r\n?/g, "\n");
    if (this.field.value === text) return;
    this.field.value = text;
    this.hint.textContent = "";
    this.mark();
    if (stdin !== "") this.open();
  }

  /** Input that the closed box hides is marked. */
  private mark(): void {
    this.toggle.classList.toggle("filled", this.field.value !== "");
  }
}
