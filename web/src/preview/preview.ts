// The document that a run made, in a frame that cannot reach the editor, with a
// console beside it and a button that stops a page that hangs.

import "../styles/preview.css";

import { element, keepingFocus } from "../dom";
import { Event } from "../event";
import { t } from "../messages";
import { previewBar } from "./bar";
import { ConsolePanel } from "./console";
import { PreviewFrame, type FrameState } from "./frame";
import { DocumentScripts, type Place } from "./maps";
import { insertionPoint, type Entry, type FromFrame } from "./protocol";
import { PageRequests, type Followed, type Program } from "./requests";
import { Sheets } from "./sheets";
import { Places } from "./stack";
import { inShort } from "./values";
import { HangMemory } from "./watchdog";

interface Options {
  /** The element to fill. */
  parent: HTMLElement;
  url: string;
  hasConsole: boolean;
  /** Identifies the page if it hangs. */
  memoryKey: string;
  /** Shows a place in the editor. */
  onJump: (place: Place) => void;
}

/** A message of the page. */
export interface PageMessage {
  level: Entry["level"];
  text: string;
  /** Whether it is an error that nobody caught. */
  isUncaught: boolean;
  /** The place in the person's files, if it is known. */
  place: Place | null;
}

interface Shown {
  html: string;
  program: Program;
  /** The part of the page that it begins with. */
  fragment: string;
}

export class Preview {
  readonly received = new Event<PageMessage>();
  /** The person goes to another page of the program. */
  readonly followed: Event<Followed>;
  /** Whether the page hung when it was shown last, perhaps before a reload. Then it must not start by itself. */
  readonly hungBefore: boolean;

  private readonly options: Options;
  private readonly stage = element("div", { class: "preview-stage", "data-width": "full" });
  private readonly banner = element("div", { class: "preview-banner", role: "alert" });
  private readonly requests = new PageRequests({
    frame: () => this.frame,
    program: () => this.last?.program ?? null,
    say: (text) => this.say(text),
    scroll: (fragment) => this.scroll(fragment),
  });
  private readonly reload = element("button", { type: "button", class: "quiet-button" }, t("preview.reload"));
  private readonly section = element("section", { class: "preview", "aria-label": t("preview.title"), tabindex: "-1" });
  private readonly panel: ConsolePanel;
  private readonly memory: HangMemory;
  private frame: PreviewFrame | null = null;
  private places: Places | null = null;
  private last: Shown | null = null;
  /** Of the page that is shown, when they are first needed. */
  private sheets: Sheets | null = null;
  /** The files as they are now, if their stylesheets are to be shown at once. */
  private edited: Program["files"] = [];
  private generations = 0;
  /** Whether the document was started again after the page opened another one. */
  private isRestored = false;
  /** Whether the banner says that the page does not answer. */
  private isSilent = false;

  constructor(options: Options) {
    this.options = options;
    this.followed = this.requests.followed;
    this.memory = new HangMemory(options.memoryKey, () => localStorage);
    this.hungBefore = this.memory.isSet;
    const own = (stack: string) => this.places?.own(stack) ?? [];
    this.panel = new ConsolePanel({ own, jump: options.onJump }, (code) => this.execute(code));
    const hint = element("p", { class: "preview-keys", "aria-hidden": "true" }, t("preview.keys"));
    const { section } = this;
    const bar = previewBar(this.stage, this.reload);
    section.append(bar, this.banner, this.requests.saves.element, this.stage, hint);
    // The frame element does not match :focus while the focus is in its page.
    const look = () => section.classList.toggle("entered", document.activeElement === this.frame?.element);
    for (const name of ["blur", "focus"]) addEventListener(name, look);
    options.parent.append(section, ...(options.hasConsole ? [this.panel.element] : []));
    this.reload.disabled = true;
    this.reload.addEventListener("click", () => {
      this.requests.saves.reset();
      if (this.last !== null) this.start(this.last);
    });
    addEventListener("pagehide", () => this.acquit());
    if (this.hungBefore) this.notify(t("preview.hung-before"));
  }

  /** A number that changes when the page is ended or another is shown. */
  get generation(): number {
    return this.generations;
  }

  /** Shows the document that a run has made of a program, in a frame of its own. */
  show(html: string, program: Program): void {
    this.requests.saves.reset();
    this.start({ html, program, fragment: "" });
  }

  /** Shows another page of the program. */
  open(html: string, { path, fragment, form }: Followed): void {
    const { last } = this;
    if (last === null) return;
    const program = { ...last.program, entryFile: path };
    keepingFocus(this.section, () => this.start({ html, program, fragment }));
    if (form !== "") this.say(t("preview.sent", { form }));
  }

  /** Shows the stylesheets of these files at once, as far as they need no run. */
  restyle(files: Program["files"]): void {
    const { last, frame } = this;
    this.edited = files;
    // One that has begun shows them when it runs.
    if (last === null || frame?.state !== "running") return;
    this.sheets ??= new Sheets(last.html, last.program.files);
    for (const change of this.sheets.changes(files)) frame.send({ type: "restyle", ...change });
  }

  /** Adds a line to the console that is not the page's. */
  say(text: string): void {
    const values = [{ type: "text" as const, text }];
    this.take({ type: "entry", entry: { level: "info", values, depth: 0, table: null, stack: "", isUncaught: false } });
  }

  /** Shows words above the page. */
  notify(words: string, ...more: HTMLElement[]): void {
    this.banner.replaceChildren(element("span", {}, words), ...more);
  }

  /** Ends the page and removes its messages. */
  clear(): void {
    this.remove();
    this.last = null;
    this.sheets = null;
    this.isRestored = false;
    this.isSilent = false;
    this.reload.disabled = true;
    this.stage.replaceChildren();
    this.banner.replaceChildren();
    this.requests.saves.close();
    this.panel.clear();
  }

  private start(shown: Shown): void {
    const { html, program } = shown;
    this.clear();
    this.last = shown;
    this.reload.disabled = false;
    // Before it starts: a page that hangs can freeze the editor if both have one origin.
    this.memory.set();
    const sources = { entryFile: program.entryFile, paths: program.files.map(({ path }) => path) };
    const places = new Places(new DocumentScripts(html, insertionPoint(html)), sources);
    const frame = new PreviewFrame(this.options.url, html);
    frame.received.listen((message) => this.take(message));
    frame.stateChanged.listen((state) => this.showState(state));
    frame.left.listen(() => this.restore());
    this.places = places;
    this.frame = frame;
    this.stage.replaceChildren(frame.element);
  }

  private take(message: FromFrame): void {
    if (message.type === "leave") return this.leave(message.isBackwards);
    if (message.type === "follow") return void this.requests.visit(message);
    if (message.type === "save") return this.requests.offer(message);
    if (message.type === "loaded") this.scroll(this.last?.fragment ?? "");
    if (message.type === "written") this.places?.begin(message.url, message.insertedLength);
    this.panel.take(message);
    if (message.type !== "entry") return;
    const { level, values, stack, isUncaught } = message.entry;
    const text = values.map((value) => inShort(value)).join(" ");
    this.received.emit({ level, text, isUncaught, place: this.places?.own(stack)[0]?.place ?? null });
  }

  private execute(code: string): void {
    this.panel.echo(code);
    if (this.frame === null) this.say(t("preview.no-page"));
    else this.frame.send({ type: "execute", code });
  }

  private scroll(fragment: string): void {
    if (fragment !== "") this.frame?.send({ type: "go", fragment });
  }

  /** The page has opened another one. The policy blocks that, so the frame shows an error of the browser. */
  private restore(): void {
    const { last } = this;
    if (last === null) return;
    // A page that does so whenever it starts would do so for ever.
    const isAtOnce = this.isRestored && this.frame?.state !== "running";
    keepingFocus(this.section, () => {
      if (isAtOnce) this.end(t("preview.stopped-leaving"));
      else this.start(last);
    });
    if (isAtOnce) return;
    this.isRestored = true;
    this.notify(t("preview.restored"));
  }

  private remove(): void {
    this.acquit();
    this.generations += 1;
    this.frame?.remove();
    this.frame = null;
  }

  /** A page that is not silent has not hung, if the editor comes to this. */
  private acquit(): void {
    if (this.frame !== null && this.frame.state !== "silent") this.memory.clear();
  }

  /** Ends the page, and shows the reason. */
  private end(words: string): void {
    this.remove();
    this.requests.saves.close();
    this.notify(words);
  }

  private showState(state: FrameState): void {
    if (state === "running") {
      this.memory.clear();
      if (this.edited.length > 0) this.restyle(this.edited);
      if (this.isRestored) this.notify(t("preview.restored"));
      else if (this.isSilent) this.banner.replaceChildren();
      this.isSilent = false;
    } else if (state === "silent") {
      this.isSilent = true;
      this.memory.set();
      this.notify(t("preview.silent"), this.stopButton());
    } else if (state === "flooding") {
      this.end(t("preview.stopped-flooding"));
    } else if (state === "stealing") {
      this.end(t("preview.stopped-stealing"));
    } else if (state === "unreachable") {
      this.isSilent = true;
      this.memory.clear();
      this.notify(t("preview.unreachable"), this.stopButton());
    }
  }

  /** Moves the focus out of the page. A page can ask for that at any time, so it must have the focus. */
  private leave(isBackwards: boolean): void {
    if (document.activeElement !== this.frame?.element) return;
    const after = this.options.hasConsole ? this.panel.element.querySelector("button") : null;
    (isBackwards || after === null ? this.reload : after).focus();
  }

  private stopButton(): HTMLButtonElement {
    const stop = element("button", { type: "button", class: "preview-stop" }, t("preview.stop"));
    stop.addEventListener("click", () => {
      this.end(t("preview.stopped"));
      // The button that had the focus is gone.
      this.reload.focus();
    });
    return stop;
  }
}
