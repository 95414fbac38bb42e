// The dialogs with a text to copy: the snippet that embeds the page, and the
// link if the clipboard cannot be used.

import type { PageConfig, ThemeChoice } from "../config";
import { element } from "../dom";
import { t } from "../messages";
import { writeFragment } from "../parent/fragment";
import type { Workspace } from "../workspace";
import { copied } from "./clipboard";
import { iframeSnippet } from "./links";

const HEIGHT = 480;
const THEMES = [["auto", "dialogs.theme-reader"], ["light", "dialogs.theme-light"], ["dark", "dialogs.theme-dark"]] as const;

/** A modal dialog: the browser keeps the focus inside, closes it at Escape, and gives the focus back. */
class CopyDialog {
  readonly text: HTMLTextAreaElement;
  private readonly dialog: HTMLDialogElement;
  private readonly result = element("p", { role: "status", class: "copy-result" });

  constructor(id: string, title: string, ...controls: Node[]) {
    this.text = element("textarea", { readonly: true, rows: "4", spellcheck: "false", "aria-label": title });
    const copy = element("button", { type: "button", class: "main-button" }, t("output.copy"));
    const close = element("button", { type: "button" }, t("start.close"));
    const heading = element("h2", { id: `${id}-title` }, title);
    this.dialog = element("dialog", { id, class: "dialog", "aria-labelledby": `${id}-title` });
    const actions = element("div", { class: "dialog-actions" }, this.result, close, copy);
    this.dialog.append(heading, ...controls, this.text, actions);
    copy.addEventListener("click", () => void this.copy());
    close.addEventListener("click", () => this.dialog.close());
    // A click on the backdrop closes it too.
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close();
    });
    document.body.append(this.dialog);
  }

  show(text: string): void {
    this.text.value = text;
    this.result.textContent = "";
    if (!this.dialog.open) this.dialog.showModal();
  }

  private async copy(): Promise<void> {
    const isCopied = await copied(this.text.value);
    if (!isCopied) {
      this.text.focus();
      this.text.select();
    }
    this.result.textContent = t(isCopied ? "dialogs.copied" : "dialogs.copy-by-hand");
  }
}

export class LinkDialog {
  private dialog: CopyDialog | null = null;

  open(url: string): void {
    this.dialog ??= new CopyDialog("link-dialog", t("dialogs.link"));
    this.dialog.show(url);
    this.dialog.text.select();
  }
}

export class EmbedDialog {
  private dialog: CopyDialog | null = null;
  private theme: ThemeChoice = "auto";
  private hasCode = true;
  private isReadOnly = false;
  private readonly config: PageConfig;
  private readonly workspace: Workspace;

  constructor(config: PageConfig, workspace: Workspace) {
    this.config = config;
    this.workspace = workspace;
  }

  async open(): Promise<void> {
    this.dialog ??= new CopyDialog("embed-dialog", t("dialogs.embed"), this.controls());
    await this.update();
  }

  private async update(): Promise<void> {
    const { language, title } = this.config;
    const fragment = this.hasCode ? await writeFragment(this.workspace.snapshot()) : null;
    const snippet = iframeSnippet({
      page: location.href,
      language,
      title,
      theme: this.theme,
      readonly: this.isReadOnly,
      height: HEIGHT,
      fragment,
    });
    this.dialog?.show(snippet);
  }

  private controls(): Node {
    const themes = element("fieldset", {}, element("legend", {}, t("dialogs.theme")));
    for (const [theme, key] of THEMES) {
      const input = element("input", { type: "radio", name: "embed-theme", checked: theme === this.theme });
      input.addEventListener("change", () => {
        this.theme = theme;
        void this.update();
      });
      themes.append(element("label", {}, input, t(key)));
    }
    const code = this.check(t("dialogs.include-code"), this.hasCode, (isOn) => (this.hasCode = isOn));
    const readonly = this.check(t("dialogs.read-only"), this.isReadOnly, (isOn) => (this.isReadOnly = isOn));
    return element("div", { class: "dialog-choices" }, themes, code, readonly);
  }

  private check(label: string, isOn: boolean, take: (isOn: boolean) => void): Node {
    const input = element("input", { type: "checkbox", checked: isOn });
    input.addEventListener("change", () => {
      take(input.checked);
      void this.update();
    });
    return element("label", {}, input, label);
  }
}
