// The box for standard input: what is typed there, and the word that a program
// wants some.

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
    // Restored, linked, or set by the embedding page.
    workspace.edited.listen(() => this.show(workspace.stdin));
    this.show(workspace.stdin);
  }

  /** After a run that wanted input, opens the box and says what it is for; `null` takes the word back. The focus stays where it is. */
  ask(words: string | null): void {
    this.hint.textContent = words ?? "";
    if (words !== null) this.box.open = true;
  }

  private show(stdin: string): void {
    if (this.field.value === stdin) return;
    this.field.value = stdin;
    this.hint.textContent = "";
    if (stdin !== "") this.box.open = true;
  }
}
