// A page asks for something that is not in its document: another page of its program, or
// to save a file. A page can ask at any time, so the person decides.

import { Event } from "../event";
import { t } from "../messages";
import type { SourceFile } from "../workspace";
import { fileAt, pageAt, type PageAddress } from "./address";
import type { PreviewFrame } from "./frame";
import type { FromFrame } from "./protocol";
import { SaveOffers } from "./saves";

/** The program whose document is shown. */
export interface Program {
  entryFile: string;
  files: readonly Readonly<SourceFile>[];
}

/** A page of the program that the person goes to; `form` has the words for the fields sent to it, or is empty. */
export interface Followed extends PageAddress {
  form: string;
}

/** The page that is shown. */
interface View {
  frame(): PreviewFrame | null;
  program(): Program | null;
  /** Adds a line to the console. */
  say(text: string): void;
  scroll(fragment: string): void;
}

/** The click that follows a link ends in this time. */
const FOLLOW_MS = 200;
/** The news of the focus takes another way, which is longer on a slow machine. */
const FOCUS_MS = 1000;

export class PageRequests {
  readonly followed = new Event<Followed>();
  readonly saves = new SaveOffers();
  private readonly view: View;

  constructor(view: View) {
    this.view = view;
  }

  /** Goes to another page of the program, if the person has gone into this one. */
  async visit({ address, form }: FromFrame & { type: "follow" }): Promise<void> {
    const { view } = this;
    const frame = view.frame();
    const sinceMs = performance.now();
    let isEntered = false;
    do {
      await new Promise((resolve) => setTimeout(resolve, FOLLOW_MS));
      if (frame === null || frame !== view.frame()) return;
      isEntered = await frame.isEntered();
    } while (document.activeElement !== frame.element && performance.now() - sinceMs < FOCUS_MS);
    if (frame === view.frame()) this.go(address, form, isEntered);
  }

  /** Offers to save a file that the page made, or one of the program. */
  offer({ name, address, content }: FromFrame & { type: "save" }): void {
    const { view } = this;
    const { entryFile, files } = view.program() ?? { entryFile: "", files: [] };
    const path = fileAt(address, entryFile, files.map((file) => file.path));
    const bytes = content ?? files.find((file) => file.path === path)?.content;
    const short = { name: name.slice(0, 200) };
    if (bytes === undefined) view.say(t("preview.not-saved-missing", short));
    else if (!this.saves.offer(name, bytes)) view.say(t("preview.not-saved-dismissed", short));
  }

  private go(address: string, form: string, isAsked: boolean): void {
    const { view } = this;
    const program = view.program();
    if (program === null) return;
    const { entryFile, files } = program;
    const page = pageAt(address, entryFile, files.map(({ path }) => path));
    if (page === null || !isAsked) {
      if (form !== "") return view.say(t(page === null ? "preview.not-sent-missing" : "preview.not-sent-unasked", { form }));
      const key = page === null ? "preview.not-opened-missing" : "preview.not-opened-unasked";
      return view.say(t(key, { address: address.slice(0, 200) }));
    }
    if (page.path === entryFile && page.fragment !== "") view.scroll(page.fragment);
    else this.followed.emit({ ...page, form });
  }
}
