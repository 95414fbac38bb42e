// One frame with one document, which has a port of its own and is watched. Every
// run has a new frame, so that nothing of the last run is left.

import { element } from "../dom";
import { Event } from "../event";
import { frameWords, t } from "../messages";
import { Allowance } from "./allowance";
import { FocusGuard } from "./focus";
import { HERE, LOADED, readMessage, type FromFrame, type Opening, type ToFrame } from "./protocol";
import { PING_MS, Watchdog } from "./watchdog";

/** The permissions of the document; its own policy is the same (crates/server/src/embed/preview.rs). */
const SANDBOX = "allow-scripts allow-forms";
/** Answers after which a page counts as responsive. */
const MIN_ANSWERS = 2;

/** The time in which a document that was loaded must send a message. */
const MAX_LEFT_MS = 1000;

/**
 * `unreachable`: the frame's own page was not loaded. `flooding`: the page sent too many messages, and was ended.
 * `stealing`: it took the keyboard again and again, and was ended.
 */
export type FrameState = "starting" | "running" | "silent" | "unreachable" | "flooding" | "stealing";

export class PreviewFrame {
  readonly received = new Event<FromFrame>();
  readonly stateChanged = new Event<FrameState>();
  /** Another document has replaced this one. */
  readonly left = new Event<void>();
  readonly element: HTMLIFrameElement;

  private readonly html: string;
  private readonly listener = (event: MessageEvent) => this.receive(event);
  private readonly guard: FocusGuard;
  private port: MessagePort | null = null;
  private current: FrameState = "starting";
  private watchdog: Watchdog | null = null;
  private timer: ReturnType<typeof setInterval> | undefined;
  private isWritten = false;
  private answers = 0;
  /** The number of documents that the frame has loaded, and the number of times that ours reported so. */
  private loads = 0;
  private ownLoads = 0;
  private readonly allowance = new Allowance(performance.now());

  constructor(url: string, html: string) {
    this.html = html;
    this.element = element("iframe", { src: url, title: t("preview.frame"), sandbox: SANDBOX });
    this.guard = new FocusGuard(this.element, () => this.enter("stealing"));
    // The document is for the first page that the frame loads.
    this.element.addEventListener("load", () => this.open(), { once: true });
    addEventListener("message", this.listener);
  }

  get state(): FrameState {
    return this.current;
  }

  /** Sends a message to our code in the document. */
  send(message: ToFrame): void {
    this.port?.postMessage(message);
  }

  /** Whether the person has moved the focus into the page: the page can take it for a moment. */
  isEntered(): Promise<boolean> {
    return this.guard.isEntered();
  }

  /** Ends the page, also one that hangs. */
  remove(): void {
    clearInterval(this.timer);
    this.guard.end();
    removeEventListener("message", this.listener);
    this.port?.close();
    this.element.remove();
  }

  private open(): void {
    const opening: Opening = { sandpiper: "preview", html: this.html, sandbox: SANDBOX, words: frameWords() };
    // No origin can be named: the frame's is opaque.
    this.element.contentWindow?.postMessage(opening, "*");
    this.watchdog = new Watchdog(performance.now());
    this.timer = setInterval(() => this.ask(), PING_MS);
  }

  /** The source is looked at first: the data of others, which may be large, are not even read. */
  private receive(event: MessageEvent): void {
    const { contentWindow } = this.element;
    if (event.source === null || contentWindow === null) return;
    if (event.source === contentWindow && event.data === LOADED) this.check();
    else if (this.port === null && event.source === contentWindow.frames[0]) this.connect(event);
  }

  /**
   * Whether the document that was loaded is ours: then it reports so, or, if it was opened again, answers. It could
   * report by pagehide that it is left, but for such a listener browsers keep the process of a page that hangs.
   */
  private check(): void {
    this.loads += 1;
    // Another message may be one of the document before, and late.
    const { loads, answers } = this;
    this.send({ type: "ping" });
    setTimeout(() => {
      const isOurs = this.ownLoads >= loads || this.answers > answers;
      if (!isOurs && this.element.isConnected) this.left.emit();
    }, MAX_LEFT_MS);
  }

  /** The first port that the document's window sends is the port of our code, which runs before all other code. */
  private connect({ data, ports }: MessageEvent): void {
    const port = ports[0];
    if (data !== HERE || port === undefined) return;
    this.port = port;
    port.onmessage = (event: MessageEvent<unknown>) => {
      const message = readMessage(event.data);
      if (!this.allowance.pays(message, performance.now())) return this.enter("flooding");
      if (message !== null) this.take(message);
    };
  }

  private ask(): void {
    // It was removed with all that is around it.
    if (!this.element.isConnected) return this.remove();
    this.send({ type: "ping" });
    // Browsers may suspend a page in the background.
    const isSilent = this.watchdog?.isSilent(performance.now(), !document.hidden) ?? false;
    if (isSilent) this.enter(this.isWritten ? "silent" : "unreachable");
  }

  private take(message: FromFrame): void {
    this.watchdog?.answered();
    if (message.type === "loaded") this.ownLoads += 1;
    if (message.type === "written") this.isWritten = true;
    if (message.type === "pong") {
      this.answers += 1;
      if (this.answers >= MIN_ANSWERS) this.enter("running");
    }
    this.received.emit(message);
  }

  private enter(state: FrameState): void {
    if (state === this.current) return;
    this.current = state;
    if (state === "flooding" || state === "stealing") this.remove();
    this.stateChanged.emit(state);
  }
}
