// One frame with one document: handed over on a port of its own, watched, and
// thrown away. Every run has a new one, so that nothing is left of the last.

import { element } from "../dom";
import { Event } from "../event";
import { HERE, LOADED, readMessage, type FromFrame, type Opening, type ToFrame } from "./protocol";
import { PING_MS, Watchdog } from "./watchdog";

/** What the document may do; its own policy says the same (crates/server/src/embed/preview.rs). */
const SANDBOX = "allow-scripts allow-forms";
/** Answers after which a page counts as one that runs well. */
const ENOUGH_ANSWERS = 2;

/** How long a document that was loaded has for a word of its own. */
const LEFT_MS = 1000;

/** Messages that are taken at once, and a second after that: several times what our own code sends. */
const MOST_MESSAGES = 10_000;
const MESSAGES_A_SECOND = 4000;
/** What is none of our messages was not sent by our code: few of them are too many. */
const FOREIGN_COST = 100;

/** `unreachable`: the frame's own page did not come. `flooding`: it sent more than can be taken, and was ended. */
export type FrameState = "starting" | "running" | "silent" | "unreachable" | "flooding";

export class PreviewFrame {
  readonly said = new Event<FromFrame>();
  readonly stateChanged = new Event<FrameState>();
  /** The document is gone: another has taken its place. */
  readonly left = new Event<void>();
  readonly element: HTMLIFrameElement;

  private readonly html: string;
  private readonly listener = (event: MessageEvent) => this.hear(event);
  private port: MessagePort | null = null;
  private current: FrameState = "starting";
  private watchdog: Watchdog | null = null;
  private timer: ReturnType<typeof setInterval> | undefined;
  private isWritten = false;
  private answers = 0;
  private messages = 0;
  /** Documents that the frame's own page has seen loaded, and how often ours said that it is. */
  private loads = 0;
  private ownLoads = 0;
  private allowance = MOST_MESSAGES;
  private allowedMs = performance.now();

  constructor(url: string, html: string) {
    this.html = html;
    this.element = element("iframe", { src: url, title: "Preview of the page. Esc, then Tab, leaves it.", sandbox: SANDBOX });
    // Whatever else it loads is not the page that the document is for.
    this.element.addEventListener("load", () => this.open(), { once: true });
    addEventListener("message", this.listener);
  }

  get state(): FrameState {
    return this.current;
  }

  /** Ends the page, also one that hangs. */
  remove(): void {
    clearInterval(this.timer);
    removeEventListener("message", this.listener);
    this.port?.close();
    this.element.remove();
  }

  private open(): void {
    const opening: Opening = { sandpiper: "preview", html: this.html, sandbox: SANDBOX };
    // No origin can be named: the frame's is opaque.
    this.element.contentWindow?.postMessage(opening, "*");
    this.watchdog = new Watchdog(performance.now());
    this.timer = setInterval(() => this.ask(), PING_MS);
  }

  private hear(event: MessageEvent): void {
    if (event.data === LOADED && event.source !== null && event.source === this.element.contentWindow) this.check();
    else if (this.port === null) this.connect(event);
  }

  /**
   * Whether the document that was loaded is ours: it says so, or answers, as one does that was opened again. Ours could
   * tell by pagehide that it goes, but for a listener to that browsers keep the process of a page that hangs.
   */
  private check(): void {
    this.loads += 1;
    const { loads, messages } = this;
    this.ping();
    setTimeout(() => {
      const isOurs = this.ownLoads >= loads || this.messages > messages;
      if (!isOurs && this.element.isConnected) this.left.emit();
    }, LEFT_MS);
  }

  /** The first port that the document's window sends is that of our own code, which runs before all of its. */
  private connect({ source, data, ports }: MessageEvent): void {
    const port = ports[0];
    const isOurs = data === HERE && source !== null && source === this.element.contentWindow?.frames[0];
    if (!isOurs || port === undefined) return;
    this.port = port;
    port.onmessage = (event: MessageEvent<unknown>) => {
      const message = readMessage(event.data);
      if (!this.mayTake(message === null ? FOREIGN_COST : 1)) return this.enter("flooding");
      if (message !== null) this.take(message);
    };
  }

  /** A page can have our port: nothing else keeps it from sending without end. */
  private mayTake(cost: number): boolean {
    const nowMs = performance.now();
    const earned = ((nowMs - this.allowedMs) / 1000) * MESSAGES_A_SECOND;
    this.allowance = Math.min(MOST_MESSAGES, this.allowance + earned) - cost;
    this.allowedMs = nowMs;
    return this.allowance >= 0;
  }

  private ping(): void {
    const ping: ToFrame = { type: "ping" };
    this.port?.postMessage(ping);
  }

  private ask(): void {
    this.ping();
    // A page in the background may be held up by the browser.
    const isSilent = this.watchdog?.isSilent(performance.now(), !document.hidden) ?? false;
    if (isSilent) this.enter(this.isWritten ? "silent" : "unreachable");
  }

  private take(message: FromFrame): void {
    this.watchdog?.heard();
    this.messages += 1;
    if (message.type === "loaded") this.ownLoads += 1;
    if (message.type === "written") this.isWritten = true;
    if (message.type === "pong") {
      this.answers += 1;
      if (this.answers >= ENOUGH_ANSWERS) this.enter("running");
    }
    this.said.emit(message);
  }

  private enter(state: FrameState): void {
    if (state === this.current) return;
    this.current = state;
    if (state === "flooding") this.remove();
    this.stateChanged.emit(state);
  }
}
