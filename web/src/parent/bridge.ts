// The wire to the embedding page: whom we listen to, and where answers and
// events go.

import { answerTo, eventMessage, readCommand, type Controls, type EventName } from "./protocol";

/** What is needed of the window; a test has its own. */
export interface Surroundings {
  parent: Pick<Window, "postMessage"> | null;
  addEventListener(type: "message", listener: (event: MessageEvent) => void): void;
}

export interface BridgeOptions {
  surroundings: Surroundings;
  /** The only origin that is listened and talked to; that of any parent where it is not told. */
  parentOrigin: string | null;
  controls: Controls;
  /** What `ready` tells. */
  about: object;
  /** A message of the embedding page that is none of this protocol. */
  onOther: (data: unknown) => void;
}

/** Only from the parent, and only from the named origin; asks nothing of what is in the message. */
export function isFromParent(
  event: Pick<MessageEvent, "source" | "origin">,
  parent: unknown,
  parentOrigin: string | null,
): boolean {
  return event.source === parent && (parentOrigin === null || event.origin === parentOrigin);
}

/** An origin as events have it; what is none matches nothing (`null` would be any sandboxed page). */
export function originOf(parameter: string | null): string | null {
  if (parameter === null || parameter === "") return null;
  const origin = URL.canParse(parameter) ? new URL(parameter).origin : "null";
  return origin === "null" ? "invalid:" : origin;
}

export class Bridge {
  private readonly options: BridgeOptions;
  private readonly origin: string | null;
  private port: MessagePort | null = null;

  constructor(options: BridgeOptions) {
    this.options = options;
    this.origin = originOf(options.parentOrigin);
    const { surroundings } = options;
    if (surroundings.parent === null) return;
    surroundings.addEventListener("message", (event) => this.receive(event));
    this.emit("ready", options.about);
  }

  /** Tells the embedding page, if there is one. */
  emit(type: EventName, payload: unknown): void {
    this.send(eventMessage(type, payload));
  }

  send(message: object): void {
    if (this.port !== null) this.port.postMessage(message);
    else this.sendToParent(message);
  }

  /** To the window even where a port is there: for those who know no port. */
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
    // Whoever comes too late for the first `ready` asks for another.
    else if (command.type === "connect") this.emit("ready", this.options.about);
    else void this.answer(event.data, (message) => this.sendToParent(message));
  }

  /** From now on all goes through this port, which no other window can reach. */
  private connect(port: MessagePort): void {
    this.port?.close();
    this.port = port;
    port.onmessage = (event) => void this.answer(event.data, (message) => port.postMessage(message));
    this.emit("ready", this.options.about);
  }

  private async answer(data: unknown, reply: (message: object) => void): Promise<void> {
    const command = readCommand(data);
    if (command === null) return;
    const message = await answerTo(command, this.options.controls);
    if (command.id !== null) reply(message);
    else if ("error" in message) this.emit("error", { message: message.error });
  }
}
