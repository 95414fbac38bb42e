// The files as tabs (WAI-ARIA tabs with roving focus): shown, added, renamed,
// removed.

import { byId, element } from "../dom";
import { faultOfPath, type Workspace } from "../workspace";

export class FileTabs {
  private readonly list = byId("tabs");
  private readonly fault = byId("tab-fault");
  private readonly workspace: Workspace;
  private readonly canEdit: boolean;

  constructor(workspace: Workspace, canEdit: boolean) {
    this.workspace = workspace;
    this.canEdit = canEdit;
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    const add = byId("add-file");
    add.hidden = !canEdit;
    add.addEventListener("click", () => this.ask("", (path) => workspace.add(path)));
    workspace.filesChanged.listen(() => this.render());
    this.render();
  }

  private render(): void {
    const hadFocus = this.list.contains(document.activeElement);
    this.list.replaceChildren(...this.workspace.files.map((file) => this.tab(file.path)));
    if (hadFocus) this.list.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
  }

  private tab(path: string): HTMLElement {
    const { workspace } = this;
    const isActive = path === workspace.active;
    const isEntry = path === workspace.entryFile;
    const tab = element(
      "button",
      {
        type: "button",
        role: "tab",
        class: "tab",
        "data-path": path,
        "aria-selected": String(isActive),
        "aria-controls": "code",
        tabindex: isActive ? "0" : "-1",
        title: this.canEdit ? `${path}: F2 renames${isEntry ? "" : ", Delete removes"}` : path,
      },
      path,
    );
    if (isEntry) tab.append(element("span", { class: "entry" }, " ▸ runs"));
    tab.addEventListener("click", () => workspace.show(path));
    tab.addEventListener("dblclick", () => this.rename(path));
    return tab;
  }

  private onKey(event: KeyboardEvent): void {
    const path = (event.target as HTMLElement).dataset["path"];
    if (path === undefined) return;
    const paths = this.workspace.files.map((file) => file.path);
    const index = paths.indexOf(path);
    const last = paths.length - 1;
    const moves: Record<string, number> = {
      ArrowLeft: index === 0 ? last : index - 1,
      ArrowRight: index === last ? 0 : index + 1,
      Home: 0,
      End: last,
    };
    const move = moves[event.key];
    if (move !== undefined) this.workspace.show(paths[move] ?? path);
    else if (event.key === "F2" && this.canEdit) this.rename(path);
    else if (event.key === "Delete" && this.canEdit) this.workspace.remove(path);
    else return;
    event.preventDefault();
  }

  private rename(path: string): void {
    if (!this.canEdit) return;
    this.ask(path, (to) => this.workspace.rename(path, to));
  }

  /** Asks for a path in place of the tab. */
  private ask(path: string, take: (path: string) => void): void {
    const others = this.workspace.files.map((file) => file.path).filter((other) => other !== path);
    const input = element("input", { class: "tab-name", value: path, "aria-label": "File name", spellcheck: "false" });
    let isDone = false;
    const done = (isTaken: boolean) => {
      if (isDone) return;
      const fault = faultOfPath(input.value, others);
      if (isTaken && fault !== null) {
        this.fault.textContent = fault;
        return;
      }
      isDone = true;
      this.fault.textContent = "";
      input.remove();
      if (isTaken && input.value !== path) take(input.value);
      else this.render();
    };
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") done(true);
      if (event.key === "Escape") done(false);
    });
    input.addEventListener("blur", () => done(faultOfPath(input.value, others) === null));
    const old = this.list.querySelector(`[data-path="${CSS.escape(path)}"]`);
    if (old === null) this.list.append(input);
    else old.replaceWith(input);
    input.focus();
    input.select();
  }
}
