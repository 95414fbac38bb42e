// The dialog with the reader's settings; loaded when it is first opened.

import { element } from "../dom";
import { t } from "../messages";
import { MAX_FONT_SIZE, MIN_FONT_SIZE, type Choices, type Reader } from "../store/reader";

const THEMES = [["auto", "settings.theme-system"], ["light", "dialogs.theme-light"], ["dark", "dialogs.theme-dark"]] as const;

export class SettingsDialog {
  private readonly reader: Reader;
  private readonly dialog = element("dialog", { id: "settings", class: "dialog", "aria-labelledby": "settings-title" });
  private readonly update: (() => void)[] = [];

  constructor(reader: Reader) {
    this.reader = reader;
    const reset = this.button(t("settings.reset"), () => reader.forget());
    const close = this.button(t("start.close"), () => this.dialog.close());
    this.dialog.append(
      element("h2", { id: "settings-title" }, t("settings.title")),
      element("div", { class: "dialog-choices" }, this.themes(), this.fontSize(), this.wraps()),
      element("div", { class: "dialog-actions" }, reset, close),
    );
    // A click on the backdrop closes it too.
    this.dialog.addEventListener("click", ({ target }) => {
      if (target === this.dialog) this.dialog.close();
    });
    reader.changed.listen(() => this.show());
    document.body.append(this.dialog);
  }

  open(): void {
    this.show();
    if (!this.dialog.open) this.dialog.showModal();
  }

  private show(): void {
    for (const update of this.update) update();
  }

  private themes(): HTMLElement {
    const box = element("fieldset", {}, element("legend", {}, t("dialogs.theme")));
    for (const [theme, key] of THEMES) {
      const input = element("input", { type: "radio", name: "theme" });
      input.addEventListener("change", () => this.reader.choose({ theme }));
      this.update.push(() => (input.checked = this.reader.theme === theme));
      box.append(element("label", {}, input, t(key)));
    }
    return box;
  }

  private fontSize(): HTMLElement {
    const size = element("output", { class: "font-size" });
    const step = (label: string, by: number) => {
      const made = this.button(label, () => {
        const wanted = this.reader.fontSize + by;
        if (wanted >= MIN_FONT_SIZE && wanted <= MAX_FONT_SIZE) this.reader.choose({ fontSize: wanted });
      });
      made.setAttribute("aria-label", t(by < 0 ? "settings.smaller" : "settings.larger"));
      return made;
    };
    this.update.push(() => (size.textContent = t("settings.font-pixels", { size: this.reader.fontSize })));
    return element("fieldset", { class: "stepper" }, element("legend", {}, t("settings.font-size")), step("−", -1), size, step("+", 1));
  }

  private wraps(): HTMLElement {
    const box = element("fieldset", {}, element("legend", {}, t("settings.wrap")));
    const check = (label: string, isOn: () => boolean, choice: (isOn: boolean) => Choices) => {
      const input = element("input", { type: "checkbox" });
      input.addEventListener("change", () => this.reader.choose(choice(input.checked)));
      this.update.push(() => (input.checked = isOn()));
      box.append(element("label", {}, input, label));
    };
    check(t("settings.wrap-code"), () => this.reader.wrap, (wrap) => ({ wrap }));
    check(t("settings.wrap-output"), () => this.reader.wrapOutput, (wrapOutput) => ({ wrapOutput }));
    return box;
  }

  private button(label: string, act: () => void): HTMLButtonElement {
    const made = element("button", { type: "button" }, label);
    made.addEventListener("click", act);
    return made;
  }
}
