// Runs in the frame of a preview, before the page: takes the document from the
// editor, and tells the editor what the page says.

import { ConsolePatch } from "./patch";
import type { FromFrame, Opening, ToFrame } from "./protocol";
import { Recorder } from "./recorder";
import { Serialiser } from "./serialise";
import { giveShims } from "./shims";

// The page can replace all of these; the port stays ours alone.
const editor = window.parent;
const { addEventListener } = window;

addEventListener.call(window, "message", open as EventListener);

function open(event: MessageEvent): void {
  const port = event.ports[0];
  if (event.source !== editor || editor === window || port === undefined) return;
  const opening = event.data as Partial<Opening> | null;
  if (opening?.sandpiper !== "preview" || typeof opening.html !== "string") return;
  window.removeEventListener("message", open as EventListener);
  event.stopImmediatePropagation();
  show(opening.html, port);
}

function show(html: string, port: MessagePort): void {
  const send = (message: FromFrame) => port.postMessage(message);
  const recorder = new Recorder(send);
  const patch = new ConsolePatch(recorder);
  port.onmessage = ({ data }: MessageEvent<ToFrame>) => {
    if (data.type !== "ping") return;
    recorder.flush();
    // A page that opens its document again loses them; twice the same is once.
    listen(patch);
    send({ type: "pong" });
  };
  const { href } = location;
  patch.apply(console);
  // Removes the listeners of the window, but not what hangs on it.
  document.open();
  giveShims(window, (text) => patch.say("info", [{ type: "text", text }]));
  listen(patch);
  send({ type: "written", url: href });
  document.write(html);
  document.close();
}

let listeners: Readonly<Record<string, (event: Event) => void>> | null = null;

function listen(patch: ConsolePatch): void {
  listeners ??= {
    error: (event) => failed(patch, event),
    unhandledrejection: (event) => {
      uncaught(patch, "Uncaught (in promise)", (event as PromiseRejectionEvent).reason, "");
    },
    securitypolicyviolation: (event) => blocked(patch, event as SecurityPolicyViolationEvent),
  };
  for (const [name, listener] of Object.entries(listeners)) addEventListener.call(window, name, listener, true);
}

function failed(patch: ConsolePatch, event: Event): void {
  if (event instanceof ErrorEvent) {
    const { error, message, filename, lineno, colno } = event;
    // Errors of parsing have no stack of their own: they are where the event says.
    const place = filename === "" ? "" : `    at ${filename}:${lineno}:${colno}`;
    const thrown: unknown = error ?? message;
    return uncaught(patch, typeof thrown === "string" && error == null ? "" : "Uncaught", thrown, place);
  }
  const element = event.target;
  if (!(element instanceof Element)) return;
  const address = element.getAttribute("src") ?? element.getAttribute("href") ?? "";
  const text = `<${element.localName}> could not be loaded: ${address.slice(0, 200)}`;
  patch.say("error", [{ type: "text", text }], "");
}

function uncaught(patch: ConsolePatch, title: string, thrown: unknown, place: string): void {
  const value = new Serialiser().argument(thrown);
  const stack = value.type === "error" && value.stack !== "" && hasFrames(value.stack) ? value.stack : place;
  patch.say("error", title === "" ? [value] : [{ type: "text", text: title }, value], stack);
}

const hasFrames = (stack: string) => /:\d+:\d+/.test(stack);

function blocked(patch: ConsolePatch, event: SecurityPolicyViolationEvent): void {
  const what = event.blockedURI.slice(0, 200);
  const text = `Not loaded: ${what}. The preview has no network; add the file to the program instead.`;
  patch.say("error", [{ type: "text", text }], `    at ${event.sourceFile}:${event.lineNumber}:${event.columnNumber}`);
}
