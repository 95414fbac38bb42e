// One embedded editor: its element, its frame, and their messages.

import { canGrow, frameUrl, grownHeight, reservedHeight, type Wanted } from "./attributes";

const APP = "sandpiper";
const VERSION = 1;

type Listener = (payload: unknown) => void;

interface Pending {
  resolve: (payload: unknown) => void;
  reject: (error: Error) => void;
}

export interface FrameOptions {
  /** The URL of this script. */
  base: string;
  wanted: Wanted;
  autosave: string;
  title: string;
}

export class EmbeddedEditor {
  /** The element that has replaced the code. */
  readonly element: HTMLElement;
  readonly frame: HTMLIFrameElement;
  /** The key of the reader's edits. */
  readonly autosave: string;
  private readonly options: FrameOptions;
  private readonly code: HTMLElement;
  private readonly origin: string;
  private readonly listeners = new Map<string, Set<Listener>>();
  private readonly pending = new Map<number, Pending>();
  private port: MessagePort | null = null;
  private waiting: object[] = [];
  private height: number;
  private count = 0;
  private isLoading = false;

  /** Replaces `code`, with space for the frame, which is added by `load`. */
  constructor(code: HTMLElement, options: FrameOptions) {
    this.options = options;
    this.autosave = options.autosave;
    this.code = code;
    this.origin = new URL(options.base).origin;
    const { dataset, files } = options.wanted;
    this.height = reservedHeight(dataset, files, code.parentElement?.clientWidth ?? 0);
    this.element = document.createElement("div");
    this.element.className = "sandpiper-embed";
    // One property at a time: the page's policy may forbid style attributes.
    set(this.element, { position: "relative", overflow: "auto", height: `${this.height}px`, margin: "1em 0" });
    this.frame = document.createElement("iframe");
    this.frame.title = options.title;
    this.frame.allow = "clipboard-write; fullscreen";
    set(this.frame, { position: "absolute", inset: "0", width: "100%", height: "100%", border: "0" });
    // The code remains visible until the editor is loaded, or for good if it cannot be.
    set(this.frame, { visibility: "hidden" });
    code.replaceWith(this.element);
    this.element.append(code);
  }

  /** Loads the editor, unless that was done. */
  load(): void {
    if (this.isLoading) return;
    this.isLoading = true;
    const { base, wanted, autosave } = this.options;
    this.frame.src = frameUrl(base, wanted, location.origin, autosave);
    this.element.append(this.frame);
  }

  /** Takes a message of the window: gives the frame a port when it is ready, which no other window can reach. */
  greet(event: MessageEvent): void {
    const { contentWindow } = this.frame;
    if (contentWindow === null || event.source !== contentWindow || event.origin !== this.origin) return;
    const data = event.data as { app?: unknown; type?: unknown } | null;
    if (data?.app !== APP || data.type !== "ready") return;
    const { port1, port2 } = new MessageChannel();
    this.port?.close();
    this.port = port1;
    port1.onmessage = (message) => this.receive(message.data as Record<string, unknown>);
    contentWindow.postMessage({ app: APP, v: VERSION, type: "connect" }, this.origin, [port2]);
    for (const message of this.waiting.splice(0)) port1.postMessage(message);
  }

  /** Sends a command, and returns the answer. */
  send(type: string, payload: unknown = {}): Promise<unknown> {
    this.load();
    const id = ++this.count;
    const message = { app: APP, v: VERSION, id, type, payload };
    if (this.port === null) this.waiting.push(message);
    else this.port.postMessage(message);
    return new Promise((resolve, reject) => this.pending.set(id, { resolve, reject }));
  }

  /** Calls `listener` at every event of this type, until the result is called. */
  on(type: string, listener: Listener): () => void {
    const own = this.listeners.get(type) ?? new Set();
    this.listeners.set(type, own.add(listener));
    return () => own.delete(listener);
  }

  private receive(message: Record<string, unknown>): void {
    const { id, type, payload, ok, error } = message;
    if (typeof id === "number") {
      const pending = this.pending.get(id);
      this.pending.delete(id);
      if (ok === true) pending?.resolve(payload);
      else pending?.reject(new Error(String(error)));
      return;
    }
    if (type === "ready") this.reveal();
    if (type === "resize") this.grow((payload as { height?: unknown } | null)?.height);
    for (const listener of [...(this.listeners.get(String(type)) ?? [])]) listener(payload);
  }

  private reveal(): void {
    this.code.hidden = true;
    set(this.frame, { visibility: "visible" });
    set(this.element, { overflow: "hidden" });
  }

  private grow(wanted: unknown): void {
    const { dataset } = this.options.wanted;
    if (!canGrow(dataset)) return;
    this.height = grownHeight(dataset, this.height, wanted);
    set(this.element, { height: `${this.height}px` });
  }
}

function set(element: HTMLElement, properties: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, value);
}
