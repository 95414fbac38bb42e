// The files as tabs (WAI-ARIA tabs with roving focus), which are shown, added,
// renamed and deleted.

import { byId, element, hasFocus, isMirrored } from "../dom";
import { t } from "../messages";
import type { Notice } from "../store/notice";
import type { Workspace } from "../workspace";
import { PathInput } from "./path-input";

export class FileTabs {
  private readonly list = byId("tabs");
  private readonly addButton = byId("add-file");
  private readonly workspace: Workspace;
  private readonly notice: Notice;
  private isEditable: boolean;
  private input: PathInput | null = null;
  private faulty: ReadonlySet<string> = new Set();

  constructor(workspace: Workspace, notice: Notice, isEditable: boolean) {
    this.workspace = workspace;
    this.notice = notice;
    this.isEditable = isEditable;
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.addButton.addEventListener("click", () => this.ask(null, (path) => workspace.add(path)));
    workspace.filesChanged.listen(() => this.render());
    // Its marks are gone too.
    workspace.replaced.listen(() => {
      this.markFaulty(new Set());
      // The new files may have the name that is being typed.
      this.input?.cancel();
    });
    this.render();
    new ResizeObserver(() => this.reveal()).observe(this.list);
  }

  /** Marks the tabs of these files, which have errors, while another file is shown. */
  markFaulty(paths: ReadonlySet<string>): void {
    const isSame = paths.size === this.faulty.size && [...paths].every((path) => this.faulty.has(path));
    this.faulty = paths;
    if (!isSame) this.render();
  }

  /** Whether files can be added, renamed and removed. */
  get canEdit(): boolean {
    return this.isEditable;
  }

  setEditable(isEditable: boolean): void {
    const hadFocus = hasFocus(this.addButton);
    this.isEditable = isEditable;
    this.input?.cancel();
    this.render();
    if (hadFocus && !isEditable) this.focusActive();
  }

  /** Whether this file can be renamed and removed. */
  canChange(path: string): boolean {
    return this.isEditable && !this.workspace.isFixed(path);
  }

  /** Asks for another name, in place of the tab. */
  rename(path: string): void {
    if (!this.isEditable) return;
    if (this.workspace.isFixed(path)) this.notice.show(t("start.fixed", { path }));
    else this.ask(path, (to) => this.workspace.rename(path, to));
  }

  /** Deletes a file, and offers to undo that; says why the entry stays. */
  remove(path: string): void {
    const { workspace } = this;
    const index = workspace.files.findIndex((file) => file.path === path);
    const content = workspace.content(path);
    if (!this.isEditable || content === undefined) return;
    if (workspace.isFixed(path)) return this.notice.show(t("start.fixed", { path }));
    if (path === workspace.entryFile) return this.notice.show(t("start.is-main", { path }));
    workspace.remove(path);
    const undo = () => {
      if (workspace.content(path) === undefined) workspace.add(path, content, index);
    };
    this.notice.show(t("start.deleted", { path }), { label: t("start.undo"), act: undo });
  }

  private render(): void {
    const hadFocus = hasFocus(this.list);
    const { scrollLeft } = this.list;
    this.addButton.hidden = !this.isEditable;
    this.list.replaceChildren(...this.workspace.visible.map((file) => this.tab(file.path)));
    this.list.scrollLeft = scrollLeft;
    this.reveal();
    if (hadFocus) this.focusActive();
  }

  private activeTab(): HTMLElement | null {
    return this.list.querySelector<HTMLElement>('[aria-selected="true"]');
  }

  private focusActive(): void {
    this.activeTab()?.focus({ preventScroll: true });
  }

  /** Scrolls only the row of tabs: scrollIntoView would move the embedding page as well. */
  private reveal(): void {
    const tab = this.activeTab();
    if (tab === null) return;
    const last = tab.offsetLeft + tab.offsetWidth - this.list.clientWidth;
    this.list.scrollLeft = Math.min(Math.max(this.list.scrollLeft, last), tab.offsetLeft);
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
        title: this.canChange(path) ? t(isEntry ? "start.main-tab-keys" : "start.tab-keys", { path }) : path,
      },
      element("bdi", { dir: "ltr" }, path),
    );
    if (isEntry) tab.append(element("span", { class: "entry" }, ` ${t("start.main-mark")}`));
    if (workspace.locked(path) === true) tab.append(element("span", { class: "lock" }, element("span", { class: "unseen" }, ` ${t("start.lock-mark")}`)));
    if (!isActive && this.faulty.has(path)) {
      tab.append(element("span", { class: "fault" }, element("span", { class: "unseen" }, ` ${t("start.error-mark")}`)));
    }
    tab.addEventListener("click", () => workspace.show(path));
    tab.addEventListener("dblclick", () => this.rename(path));
    return tab;
  }

  private onKey(event: KeyboardEvent): void {
    const path = (event.target as HTMLElement).dataset["path"];
    if (path === undefined || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const paths = this.workspace.visible.map((file) => file.path);
    const index = paths.indexOf(path);
    const last = paths.length - 1;
    const [back, on] = isMirrored() ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
    const moves: Record<string, number> = {
      [back]: index === 0 ? last : index - 1,
      [on]: index === last ? 0 : index + 1,
      Home: 0,
      End: last,
    };
    const move = moves[event.key];
    if (move !== undefined) this.workspace.show(paths[move] ?? path);
    else if (event.key === "F2" && this.isEditable) this.rename(path);
    else if (event.key === "Delete" && this.isEditable) this.remove(path);
    else return;
    event.preventDefault();
  }

  /** Asks for a path, in place of a tab or after the last one. */
  private ask(path: string | null, take: (path: string) => void): void {
    this.input?.cancel();
    const others = this.workspace.files.map((file) => file.path).filter((other) => other !== path);
    const tab = path === null ? null : this.list.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`);
    this.input = new PathInput({
      path: path ?? "",
      others,
      place: tab === null ? null : { left: tab.offsetLeft - this.list.scrollLeft, width: tab.offsetWidth },
      done: (to, hadFocus) => {
        this.input = null;
        if (to !== null) take(to);
        if (hadFocus) this.focusActive();
      },
    });
    // Not in the list of tabs, which may contain only tabs.
    this.list.after(this.input.element);
    this.input.start();
  }
}
