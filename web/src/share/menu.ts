// The menu: copy a link, embed, download, reset, and the commands for the file
// that is shown (WAI-ARIA menu button).

import type { PageConfig } from "../config";
import { byId, element } from "../dom";
import type { FileTabs } from "../files/tabs";
import type { Formatter } from "../format/formatter";
import { t } from "../messages";
import { writeFragment } from "../parent/fragment";
import type { Edits } from "../store/edits";
import type { Notice } from "../store/notice";
import type { Reader } from "../store/reader";
import type { Workspace } from "../workspace";
import { copied } from "./clipboard";
import { EmbedDialog, LinkDialog } from "./dialogs";
import { download } from "./download";
import { downloadName, shareUrl } from "./links";
import type { SettingsDialog } from "./settings";

export interface MenuOptions {
  config: PageConfig;
  workspace: Workspace;
  edits: Edits;
  notice: Notice;
  files: FileTabs;
  reader: Reader;
  /** Opens the search in the code. */
  find: () => void;
  formatter: Formatter;
}

export class Menu {
  private readonly button = byId("menu-button");
  private readonly menu = element("div", { id: "menu", role: "menu", "aria-labelledby": "menu-button", hidden: true });
  private readonly options: MenuOptions;
  private readonly linkDialog = new LinkDialog();
  private readonly embedDialog: EmbedDialog;
  private settings: SettingsDialog | null = null;
  /** The commands for the file that is shown; a touch screen has no other way to them. */
  private readonly fileItems: { format: HTMLElement; rename: HTMLElement; start: HTMLElement; remove: HTMLElement };

  constructor(options: MenuOptions) {
    this.options = options;
    this.embedDialog = new EmbedDialog(options.config, options.workspace);
    const { files, workspace } = options;
    this.fileItems = {
      format: this.item(t("menu.format"), () => void options.formatter.format()),
      rename: this.item(t("menu.rename"), () => files.rename(workspace.active)),
      start: this.item(t("menu.set-main"), () => workspace.setEntry(workspace.active)),
      remove: this.item(t("menu.delete"), () => files.remove(workspace.active)),
    };
    const fullScreen = this.item(t("menu.full-screen"), () => void toggleFullScreen());
    // A page that embeds this one may not allow it.
    fullScreen.hidden = !document.fullscreenEnabled;
    this.menu.append(
      this.item(t("menu.link"), () => void this.copyLink()),
      this.item(t("menu.embed"), () => void this.embedDialog.open()),
      this.item(t("menu.download"), () => void this.downloadFiles()),
      this.item(t("start.reset"), () => options.edits.reset()),
      this.item(t("menu.find"), () => options.find()),
      this.item(t("menu.settings"), () => void this.openSettings()),
      this.item(t("menu.about", { title: options.config.title }), () => void this.openAbout()),
      fullScreen,
      ...Object.values(this.fileItems),
    );
    this.button.after(this.menu);
    this.button.hidden = false;
    // Safari gives a button that is clicked the focus only if it has this.
    this.button.tabIndex = 0;
    this.button.setAttribute("aria-controls", "menu");
    this.button.addEventListener("click", () => (this.menu.hidden ? this.open(0) : this.close()));
    this.button.addEventListener("keydown", (event) => this.onButtonKey(event));
    this.menu.addEventListener("keydown", (event) => this.onKey(event));
    this.menu.addEventListener("focusout", (event) => {
      const isInside = event.relatedTarget instanceof Node && this.menu.contains(event.relatedTarget);
      // The button's own click closes it.
      if (!isInside && event.relatedTarget !== this.button) this.hide();
    });
  }

  /** Shows it, and puts the focus to the item with this index. */
  open(index: number): void {
    const { files, formatter, workspace } = this.options;
    this.fileItems.format.hidden = !formatter.isPossible;
    const isEntry = workspace.active === workspace.entryFile;
    const canChange = files.canChange(workspace.active);
    this.fileItems.rename.hidden = !canChange;
    this.fileItems.start.hidden = !files.canEdit || isEntry;
    this.fileItems.remove.hidden = !canChange || isEntry;
    this.menu.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.items().at(index)?.focus();
  }

  private item(label: string, act: () => void): HTMLElement {
    const item = element("button", { type: "button", role: "menuitem", tabindex: "-1" }, label);
    item.addEventListener("click", () => {
      this.close();
      act();
    });
    return item;
  }

  private items(): HTMLElement[] {
    return [...this.menu.querySelectorAll<HTMLElement>("[role=menuitem]:not([hidden])")];
  }

  private hide(): void {
    this.menu.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
  }

  private close(): void {
    this.hide();
    this.button.focus();
  }

  private onButtonKey(event: KeyboardEvent): void {
    if (event.key === "ArrowDown") this.open(0);
    else if (event.key === "ArrowUp") this.open(-1);
    else return;
    event.preventDefault();
  }

  private onKey(event: KeyboardEvent): void {
    const items = this.items();
    const index = items.findIndex((item) => item === document.activeElement);
    const moves: Record<string, number> = {
      ArrowDown: (index + 1) % items.length,
      ArrowUp: index - 1,
      Home: 0,
      End: -1,
    };
    const move = moves[event.key];
    if (move !== undefined) items.at(move)?.focus();
    else if (event.key === "Escape") this.close();
    else if (/^\p{Alphabetic}$/u.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const later = [...items.slice(index + 1), ...items];
      later.find((item) => item.textContent?.toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
    } else return;
    event.preventDefault();
  }

  private async openSettings(): Promise<void> {
    const { reader, notice } = this.options;
    try {
      const { SettingsDialog } = await import("./settings");
      this.settings ??= new SettingsDialog(reader);
      this.settings.open();
    } catch {
      notice.show(t("menu.settings-lost"));
    }
  }

  private async openAbout(): Promise<void> {
    const { config, notice } = this.options;
    try {
      const { openAbout } = await import("./about");
      await openAbout(config.language);
    } catch {
      notice.show(t("menu.about-lost"));
    }
  }

  private async copyLink(): Promise<void> {
    const { config, workspace, notice } = this.options;
    const fragment = await writeFragment(workspace.snapshot());
    const url = shareUrl(location.href, config.language, fragment);
    if (await copied(url)) notice.show(t("menu.link-copied"));
    else this.linkDialog.open(url);
  }

  private async downloadFiles(): Promise<void> {
    const { config, workspace, notice } = this.options;
    const { files } = workspace;
    const name = downloadName(config.language, files.map((file) => file.path));
    let content: BlobPart = files[0]?.content ?? "";
    try {
      if (files.length > 1) content = (await import("./zip")).zip(files);
    } catch {
      return notice.show(t("menu.download-lost"));
    }
    download(name, content);
  }
}

async function toggleFullScreen(): Promise<void> {
  if (document.fullscreenElement === null) await document.documentElement.requestFullscreen().catch(() => undefined);
  else await document.exitFullscreen();
}
