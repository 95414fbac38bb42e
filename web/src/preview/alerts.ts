// In the frame: alert() as a dialog that is drawn in the page. It waits for nobody
// and does not take the focus, so the page goes on meanwhile.

import { t } from "./words";

/** Dialogs that wait for those before them; further ones are only in the console. */
const MAX_WAITING = 20;
/** Without line ends, which our code must not have (crates/server/src/embed/preview.rs). */
const STYLE = [
  "div{position:fixed;inset:0 0 auto;z-index:2147483647;display:flex;flex-direction:column;gap:12px",
  "box-sizing:border-box;width:min(420px,100% - 32px);max-height:calc(100% - 32px);margin:16px auto;padding:16px",
  "border:1px solid #8c959f;border-radius:8px;color:#1f2328;background:#fff;box-shadow:0 8px 24px #0006",
  "font:14px/1.5 system-ui,sans-serif}p{margin:0;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere}",
  "button{align-self:flex-end;min-width:72px;min-height:36px;border:0;border-radius:6px;font:inherit",
  "font-weight:600;color:#fff;background:#0550ae;cursor:pointer}",
].join(";").replaceAll("};", "}");

export class Alerts {
  private readonly waiting: string[] = [];
  private host: HTMLElement | null = null;

  /** Shows the words, after those that are shown now. */
  show(words: string): void {
    if (this.waiting.length >= MAX_WAITING) return;
    this.waiting.push(words);
    // A page may have removed it.
    if (this.host?.isConnected !== true) this.next();
  }

  private next(): void {
    this.host?.remove();
    this.host = null;
    const words = this.waiting.shift();
    if (words === undefined) return;
    // The styles of the page do not reach into it.
    const host = document.createElement("sandpiper-alert");
    host.style.cssText = "all: initial !important; display: contents !important";
    const style = document.createElement("style");
    style.textContent = STYLE;
    const text = document.createElement("p");
    text.textContent = words;
    const close = document.createElement("button");
    close.textContent = t("frame.ok");
    close.addEventListener("click", (event) => {
      event.stopPropagation();
      this.next();
    });
    const box = document.createElement("div");
    box.setAttribute("role", "alert");
    box.append(text, close);
    host.attachShadow({ mode: "open" }).append(style, box);
    this.host = host;
    document.documentElement.append(host);
  }
}
