// The edits of a person: restored when the page is opened again, kept while
// they type, given up by Reset, which can be undone.

import type { Parameters } from "../config";
import type { Snapshot, Workspace } from "../workspace";
import { Autosave, hashOf } from "./autosave";
import type { Notice } from "./notice";
import { sameSnapshot } from "./snapshot";

const DELAY_MS = 500;

export interface EditsOptions {
  workspace: Workspace;
  language: string;
  parameters: Parameters;
  notice: Notice;
  /** Whether the code came with the link: edits of other links are then none of an older start. */
  isFromLink: boolean;
}

export class Edits {
  private readonly options: EditsOptions;
  private starter: Snapshot;
  private autosave: Autosave | null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** What the notice offers is gone once the person types; not so while we replace. */
  private isReplacing = false;

  /** What the workspace holds now is the start. */
  constructor(options: EditsOptions) {
    this.options = options;
    this.starter = options.workspace.snapshot();
    this.autosave = this.autosaveOf(this.starter);
    options.workspace.edited.listen(() => this.onEdit());
    // Pages that go away in a frame may get no other event than these.
    addEventListener("pagehide", () => this.saveNow());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.saveNow();
    });
  }

  /** Shows the edits of an earlier visit; those of another start are only offered. */
  restore(): void {
    const kept = this.autosave?.find() ?? null;
    if (kept === null) return;
    const { notice } = this.options;
    if (!kept.isOfOlderStart) {
      this.replace(kept.snapshot);
      return notice.show("Your edits were restored.", { label: "Reset", act: () => this.reset() });
    }
    if (this.offersOlder()) this.offer("This program has changed since you edited it.", kept.snapshot);
  }

  /** Back to the start, with a way to undo it. */
  reset(): void {
    const before = this.options.workspace.snapshot();
    if (sameSnapshot(before, this.starter)) return this.options.notice.show("There is nothing to reset.");
    this.replace(this.starter);
    const undo = { label: "Undo", act: () => this.replace(before) };
    this.options.notice.show("All files are as they were in the beginning.", undo);
  }

  /** Another start, which the embedding page has given. */
  start(snapshot: Snapshot): void {
    this.saveNow();
    this.starter = structuredClone(snapshot);
    this.options.notice.hide();
    this.replace(snapshot);
    // The start itself is not kept: it would replace the edits that are offered.
    clearTimeout(this.timer);
    this.timer = undefined;
    this.autosave = this.autosaveOf(snapshot);
    const kept = this.autosave?.find() ?? null;
    if (kept !== null && !kept.isOfOlderStart) this.offer("You have edited this before.", kept.snapshot);
  }

  /** Keeps the edits now; gives the words for it. */
  keep(): string {
    clearTimeout(this.timer);
    this.timer = undefined;
    const isKept = this.autosave?.save(this.options.workspace.snapshot()) ?? false;
    return isKept ? "Kept in this browser, as all that you type." : "Nothing is kept in this browser: copy what you need.";
  }

  /** Tells what the page starts with from other starts. */
  get startKey(): string {
    return hashOf(this.starter);
  }

  /** Whether this is what the page starts with now. */
  isStart(snapshot: Snapshot): boolean {
    return sameSnapshot(snapshot, this.starter);
  }

  private offer(words: string, snapshot: Snapshot): void {
    this.options.notice.show(words, { label: "Show your edits", act: () => this.replace(snapshot) });
  }

  private replace(snapshot: Snapshot): void {
    this.isReplacing = true;
    this.options.workspace.replace(snapshot);
    this.isReplacing = false;
  }

  private onEdit(): void {
    if (!this.isReplacing) this.options.notice.hide();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.saveNow(), DELAY_MS);
  }

  private saveNow(): void {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.autosave?.save(this.options.workspace.snapshot());
  }

  private offersOlder(): boolean {
    return !this.options.isFromLink || this.options.parameters.autosave !== "page";
  }

  private autosaveOf(starter: Snapshot): Autosave | null {
    const { language, parameters } = this.options;
    if (["", "off"].includes(parameters.autosave)) return null;
    return new Autosave({ storage: () => localStorage, language, key: keyHere(parameters.autosave), starter });
  }
}

function keyHere(autosave: string): string {
  const referrer = parent === window ? "" : document.referrer;
  return keyOf(autosave, location.ancestorOrigins?.[0] ?? null, referrer);
}

/**
 * Sites that embed the same program do not see each other's edits, nor do the pages of one, unless they say so. Where
 * the browser does not name the site, the referrer does: storage is kept by the site at the top, and that can embed
 * several that embed us.
 */
export function keyOf(autosave: string, embedder: string | null, referrer: string): string {
  const site = embedder ?? (URL.canParse(referrer) ? new URL(referrer).origin : "");
  const page = autosave === "page" ? (referrer.split("#", 1)[0] ?? "") : "";
  return [site, page, autosave].join(" ");
}
