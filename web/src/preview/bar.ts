// The bar above a page: its title, and what the person can change of its view.

import { element } from "../dom";
import { t } from "../messages";

const WIDTHS = [
  ["narrow", "320"],
  ["medium", "768"],
  ["full", null],
] as const;

/** Makes the bar of this stage; `reload` is among its buttons. */
export function previewBar(stage: HTMLElement, reload: HTMLElement): HTMLElement {
  const widths = WIDTHS.map(([value, width]) => {
    const pressed = String(value === "full");
    const title = width === null ? t("preview.full-width") : t("preview.pixels-wide", { width });
    const attributes = { type: "button", class: "quiet-button", title, "aria-pressed": pressed };
    const button = element("button", attributes, width ?? t("preview.full"));
    button.addEventListener("click", () => {
      stage.dataset["width"] = value;
      for (const other of widths) other.setAttribute("aria-pressed", String(other === button));
    });
    return button;
  });
  const dark = element("button", { type: "button", class: "quiet-button", "aria-pressed": "false" }, t("preview.dark"));
  dark.addEventListener("click", () => {
    const isDark = stage.classList.toggle("dark");
    dark.setAttribute("aria-pressed", String(isDark));
  });
  const group = element("div", { class: "choices", role: "group", "aria-label": t("preview.width") }, ...widths);
  return element("div", { class: "preview-bar" }, element("h2", {}, t("preview.title")), reload, group, dark);
}
