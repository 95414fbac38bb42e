// Offers to save files that a page made: the frame itself may download nothing.

import { element } from "../dom";
import { t } from "../messages";
import { download } from "../share/download";

/** A page can make the offer appear under the pointer of a person who is about to click. */
const WAIT_MS = 1000;
const MAX_NAME = 100;

export class SaveOffers {
  readonly element = element("div", { class: "preview-offer", role: "status" });
  private readonly dismissed = new Set<string>();
  private isOff = false;
  private offers = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Offers a file; not if the person has dismissed it, or wants no more. Returns whether it does. */
  offer(asked: string, content: BlobPart): boolean {
    const name = cleanName(asked);
    if (this.isOff || this.dismissed.has(name)) return false;
    this.offers += 1;
    const save = button(t("files.save"), () => (this.close(), download(name, content)));
    save.disabled = true;
    const dismiss = button(t("preview.dismiss"), () => (this.dismissed.add(name), this.close()));
    const off = button(t("preview.no-more-offers"), () => ((this.isOff = true), this.close()));
    const [before = "", after = ""] = t("preview.save-offer", { name: "\0" }).split("\0");
    const words = element("span", {}, before, element("bdi", {}, name), after);
    this.element.replaceChildren(words, save, dismiss, ...(this.offers > 1 ? [off] : []));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (save.disabled = false), WAIT_MS);
    return true;
  }

  /** The person has run the program or loaded the page again. */
  reset(): void {
    this.close();
    this.dismissed.clear();
    this.isOff = false;
    this.offers = 0;
  }

  close(): void {
    clearTimeout(this.timer);
    this.element.replaceChildren();
  }
}

/** A name without folders, and without characters that hide its ending or that systems refuse. */
export function cleanName(name: string): string {
  const last = name.slice(-1000).split(/[\\/]/).at(-1) ?? "";
  // Control and format characters, such as those that change the direction of the text, and lone surrogates.
  const clean = last.replace(/[\p{C}\u2028\u2029]/gu, "").replace(/[<>:"|?*%]/g, "_").replace(/^[\s.]+|[\s.]+$/g, "");
  const ending = /\.[^.]{1,20}$/.exec(clean)?.[0] ?? "";
  const letters = Array.from(clean);
  const cut = letters.length <= MAX_NAME ? clean : letters.slice(0, MAX_NAME - ending.length).join("") + ending;
  return cut === "" ? "download" : cut;
}

function button(label: string, act: () => void): HTMLButtonElement {
  const made = element("button", { type: "button", class: "quiet-button" }, label);
  made.addEventListener("click", act);
  return made;
}
