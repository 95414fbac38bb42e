// The connection to the embedding page: whose messages are accepted, and where
// answers and events go.

import { answerTo, eventMessage, readCommand, type Controls, type EventName } from "./protocol";

/** The part of the window that is needed; tests have their own. */
export interface Surroundings {
  parent: Pick<Window, "postMessage"> | null;
  addEventListener(type: "message", listener: (event: MessageEvent) => void): void;
}

export interface BridgeOptions {
  surroundings: Surroundings;
  /** The only origin that messages are accepted from and sent to; `null` for any. */
  parentOrigin: string | null;
  controls: Controls;
  /** The payload of `ready`. */
  about: object;
  /** Gets messages of the embedding page that do not belong to this protocol. */
  onOther: (data: unknown) => void;
}

/** Whether a message comes from the parent and the named origin, whatever it contains. */
export function isFromParent(
  event: Pick<MessageEvent, "source" | "origin">,
  parent: unknown,
  parentOrigin: string | null,
): boolean {
  return event.source === parent && (parentOrigin === null || event.origin === parentOrigin);
}

/** An origin in the form of events; an invalid one matches nothing (`null` would match any sandboxed page). */
export function originOf(parameter: string | null): string | null {
  if (parameter === null || parameter === "") return null;
  const origin = URL.canParse(parameter) ? new URL(parameter).origin : "null";
  return origin === "null" ? "invalid:" : origin;
}

export class Bridge {
  private readonly options: BridgeOptions;
  private readonly origin: string | null;
  private port: MessagePort | null = null;
  /** The last height, for a page that was not listening when it was reported. */
  private height: object | null = null;

  constructor(options: BridgeOptions) {
    this.options = options;
    this.origin = originOf(options.parentOrigin);
    const { surroundings } = options;
    if (surroundings.parent === null) return;
    surroundings.addEventListener("message", (event) => this.receive(event));
    this.emit("ready", options.about);
  }

  /** Sends an event to the embedding page, if there is one. */
  emit(type: EventName, payload: unknown): void {
    const message = eventMessage(type, payload);
    if (type === "resize") this.height = message;
    this.send(message);
  }

  send(message: object): void {
    if (this.port !== null) this.port.postMessage(message);
    else this.sendToParent(message);
  }

  /** Sends to the window, also if there is a port, for protocols without one. */
  sendToParent(message: object): void {
    if (this.origin === "invalid:") return;
    this.options.surroundings.parent?.postMessage(message, this.origin ?? "*");
  }

  private receive(event: MessageEvent): void {
    const { surroundings, onOther } = this.options;
    if (!isFromParent(event, surroundings.parent, this.origin)) return;
    const command = readCommand(event.data);
    if (command === null) return onOther(event.data);
    const port = event.ports[0];
    if (command.type === "connect" && port !== undefined) this.connect(port);
    // A page that came too late for the first `ready` asks for another.
    else if (command.type === "connect") this.begin();
    else void this.answer(event.data, (message) => this.sendToParent(message));
  }

  /** Uses this port for all messages from now on; no other window can reach it. */
  private connect(port: MessagePort): void {
    this.port?.close();
    this.port = port;
    port.onmessage = (event) => void this.answer(event.data, (message) => port.postMessage(message));
    this.begin();
  }

  private begin(): void {
    this.emit("ready", this.options.about);
    if (this.height !== null) this.send(this.height);
  }

  private async answer(data: unknown, reply: (message: object) => void): Promise<void> {
    const command = readCommand(data);
    if (command === null) return;
    const message = await answerTo(command, this.options.controls);
    if (command.id !== null) reply(message);
    else if ("error" in message) this.emit("error", { message: message.error });
  }
}
