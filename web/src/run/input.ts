// The box for standard input, with a hint if a program needed input.

import { byId } from "../dom";
import type { Workspace } from "../workspace";

export class InputBox {
  private readonly box = byId("input") as HTMLDetailsElement;
  private readonly field = byId("stdin") as HTMLTextAreaElement;
  private readonly hint = byId("input-hint");

  constructor(workspace: Workspace) {
    this.field.addEventListener("input", () => {
      workspace.setStdin(this.field.value);
      this.hint.textContent = "";
    });
    // From restored edits, a link, or the embedding page.
    workspace.edited.listen(() => this.show(workspace.stdin));
    this.show(workspace.stdin);
  }

  /** Opens the box with a hint after a run that needed input; `null` removes the hint. Does not move the focus. */
  ask(words: string | null): void {
    this.hint.textContent = words ?? "";
    if (words !== null) this.box.open = true;
  }

  open(): void {
    this.box.open = true;
  }

  /** Removes the hint, and closes the box if it is empty: the person types elsewhere. */
  leave(): void {
    this.hint.textContent = "";
    if (this.field.value === "") this.box.open = false;
  }

  private show(stdin: string): void {
    if (this.field.value === stdin) return;
    this.field.value = stdin;
    this.hint.textContent = "";
    if (stdin !== "") this.box.open = true;
  }
}
