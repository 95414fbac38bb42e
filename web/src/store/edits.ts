// The edits of a person: saved while they type, restored when the page is opened
// again, and discarded by Reset, which can be undone.

import type { Parameters } from "../config";
import { Event } from "../event";
import { t } from "../messages";
import { isFixed, type Snapshot, type Workspace } from "../workspace";
import { Autosave, hashOf, type Kept } from "./autosave";
import type { Notice } from "./notice";
import { sameSnapshot } from "./snapshot";

const DELAY_MS = 500;

export interface EditsOptions {
  workspace: Workspace;
  language: string;
  parameters: Parameters;
  notice: Notice;
  /** Whether the code came with the link. Then the edits of other links do not belong to an older version of it. */
  isFromLink: boolean;
}

export class Edits {
  /** Another start has taken the place of the last one. */
  readonly started = new Event<void>();
  private readonly options: EditsOptions;
  /** The start of the page, to which Reset returns. */
  starter: Snapshot;
  private autosave: Autosave | null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the present change is none of the person's. */
  private isOurs = false;

  /** The present contents of the workspace are the start. */
  constructor(options: EditsOptions) {
    this.options = options;
    this.starter = options.workspace.snapshot();
    this.autosave = this.autosaveOf(this.starter);
    options.workspace.edited.listen(() => this.onEdit());
    // A page in a frame may get no other event when it is left.
    addEventListener("pagehide", () => this.saveNow());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.saveNow();
    });
  }

  /** Restores the edits of an earlier visit, or offers those of another start. */
  restore(): void {
    const { notice, workspace } = this.options;
    const [kept, ...others] = this.autosave?.all() ?? [];
    if (kept === undefined) return;
    if (kept.kind !== "latest") return this.offer([kept, ...others]);
    this.fit(kept, (snapshot) => {
      // The person may have typed meanwhile.
      if (!this.isStart(workspace.snapshot())) return this.offer([kept, ...others]);
      this.replace(snapshot);
      this.cancelSave();
      this.autosave?.take(kept);
      notice.show(t("start.restored"), { label: t("start.reset"), act: () => this.reset() });
      this.offer(others);
    });
  }

  /** Returns to the start, and offers to undo that. */
  reset(): void {
    const before = this.options.workspace.snapshot();
    if (sameSnapshot(before, this.starter)) return this.options.notice.show(t("start.nothing-to-reset"));
    this.replace(this.starter);
    const undo = { label: t("start.undo"), act: () => this.replace(before) };
    this.options.notice.show(t("start.all-reset"), undo);
  }

  /** Begins with another start, which the embedding page has sent. */
  start(snapshot: Snapshot): void {
    this.saveNow();
    this.starter = structuredClone(snapshot);
    this.options.notice.hide();
    this.replace(snapshot);
    // The start itself is not saved, nor input that the embedding page sends after it.
    this.cancelSave();
    this.autosave = this.autosaveOf(snapshot);
    this.started.emit();
    this.offer((this.autosave?.all() ?? []).filter(({ kind }) => kind !== "older"));
  }

  /** Sets the output that the author expects, after Reset too; `null` for none. */
  expect(text: string | null): void {
    const { workspace } = this.options;
    workspace.setExpected(text);
    const { expected: _, ...starter } = this.starter;
    this.starter = text === null ? starter : { ...starter, expected: text };
  }

  /** Sets the input for the embedding page. It is saved with edits of the reader's alone. */
  setStdin(text: string): void {
    this.isOurs = true;
    this.options.workspace.setStdin(text);
    this.isOurs = false;
  }

  /** Saves the edits now. Returns the sentence for the notice. */
  keep(): string {
    return t(this.save() ? "start.kept" : "start.not-kept");
  }

  /** Identifies the start of the page. */
  get startKey(): string {
    return hashOf(this.starter);
  }

  /** Whether this is the start of the page. */
  isStart(snapshot: Snapshot): boolean {
    return sameSnapshot(snapshot, this.starter);
  }

  /** Calls `use` with edits as they fit into the program: at once, unless it has hidden or locked files. */
  private fit(kept: Kept, use: (snapshot: Snapshot) => void): void {
    const { starter } = this;
    if (![...starter.files, ...kept.snapshot.files].some(isFixed)) return use(kept.snapshot);
    const fit = ({ inProgram }: typeof import("./authored")) => {
      const snapshot = inProgram(kept.snapshot, starter);
      if (this.starter === starter && !this.isStart(snapshot)) use(snapshot);
    };
    import("./authored").then(fit, () => undefined);
  }

  /** Offers the first of these edits, and the next when it is taken. The notice may be ignored: they stay. */
  private offer([kept, ...others]: Kept[]): void {
    if (kept === undefined || (kept.kind === "older" && !this.offersOlder())) return;
    const words = t(kept.kind === "older" ? "start.changed-since" : "start.edited-before");
    const show = (snapshot: Snapshot) => {
      const restore = () => {
        this.saveNow();
        this.autosave?.release();
        this.replace(snapshot);
        this.offer(others);
      };
      this.options.notice.show(words, { label: t("start.restore"), act: restore });
    };
    this.fit(kept, show);
  }

  private replace(snapshot: Snapshot): void {
    this.isOurs = true;
    this.options.workspace.replace(snapshot);
    // It is the author's, not a part of edits.
    this.options.workspace.setExpected(this.starter.expected ?? null);
    this.isOurs = false;
    this.saveSoon();
  }

  private onEdit(): void {
    if (this.isOurs) return;
    this.options.notice.hide();
    this.saveSoon();
  }

  private saveSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.saveNow(), DELAY_MS);
  }

  private saveNow(): void {
    if (this.timer !== undefined) this.save();
  }

  private cancelSave(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private save(): boolean {
    this.cancelSave();
    return this.autosave?.save(this.options.workspace.snapshot()) ?? false;
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
 * Sites that embed the same program do not see each other's edits, nor do the pages of one site, unless they choose the
 * same key. If the browser does not name the site, the referrer does: browsers separate storage by the top-level site,
 * and that can embed several sites that embed this page.
 */
export function keyOf(autosave: string, embedder: string | null, referrer: string): string {
  const site = embedder ?? (URL.canParse(referrer) ? new URL(referrer).origin : "");
  const page = autosave === "page" ? (referrer.split("#", 1)[0] ?? "") : "";
  return [site, page, autosave].join(" ");
}
