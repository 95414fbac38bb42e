// Runs in the frame of a preview, twice: first in the frame's own page, which
// gets the document from the editor and puts it into an inner frame; then in that
// document, before all other code, where it reports messages to the editor.
// With document.write() the inner frame would not be needed, but browsers do not
// know the lines of a document that was written so.

import { valueOf } from "./execute";
import { watchForms, watchLinks } from "./links";
import { ACTIVE, ASK_ACTIVE, HERE, IDLE, LOADED, insertionPoint, type FromFrame, type Opening, type ToFrame } from "./protocol";
import { ConsolePatch } from "./patch";
import { Recorder } from "./recorder";
import { Serialiser } from "./serialise";
import { giveShims } from "./shims";
import { speak, t } from "./words";

const DOCUMENT = "about:srcdoc";
const { addEventListener } = window;
const own = document.currentScript;
let listeners: Readonly<Record<string, (event: Event) => void>> | null = null;

if (location.href === DOCUMENT) accompany();
else addEventListener.call(window, "message", open as EventListener);

/** In the frame's own page: takes the document, once. */
function open(event: MessageEvent): void {
  if (event.source !== window.parent || window.parent === window || own === null) return;
  const opening = event.data as Partial<Opening> | null;
  if (opening?.sandpiper !== "preview" || typeof opening.html !== "string") return;
  window.removeEventListener("message", open as EventListener);
  const frame = document.createElement("iframe");
  speak(opening.words ?? {});
  frame.title = t("frame.page");
  frame.setAttribute("sandbox", opening.sandbox ?? "allow-scripts");
  own.setAttribute("data-words", JSON.stringify(opening.words ?? {}));
  const at = insertionPoint(opening.html);
  frame.srcdoc = opening.html.slice(0, at) + inserted(own) + opening.html.slice(at);
  Object.assign(frame.style, { position: "fixed", inset: "0", width: "100%", height: "100%", border: "0" });
  frame.addEventListener("load", () => window.parent.postMessage(LOADED, "*"));
  document.body.append(frame);
  addEventListener.call(window, "message", answer as EventListener);
}

/** Whether the person has pressed something in the frame lately; if the browser does not say so, then yes. */
function answer({ source, data }: MessageEvent): void {
  if (source !== window.parent || data !== ASK_ACTIVE) return;
  const isActive = (navigator.userActivation as UserActivation | undefined)?.isActive !== false;
  window.parent.postMessage(isActive ? ACTIVE : IDLE, "*");
}

/** The element that is inserted before all code of the page, with the words of our code. */
function inserted(script: Element): string {
  return script.outerHTML;
}

/**
 * Lets the browser send our port to the editor before the page goes on: the
 * next script has to be fetched from the browser. Otherwise a page that hangs
 * at once would hang before the editor has the port.
 */
function pause(): void {
  const code = new Blob(["document.currentScript.remove()"], { type: "text/javascript" });
  document.write(`<script src="${URL.createObjectURL(code)}"></script>`);
}

/** In the document: opens a port to the editor, and reports messages on it. */
function accompany(): void {
  const insertedLength = own === null ? 0 : inserted(own).length;
  speak(JSON.parse(own?.getAttribute("data-words") ?? "{}") as Record<string, string>);
  own?.remove();
  const { port1: port, port2 } = new MessageChannel();
  const send = (message: FromFrame) => port.postMessage(message);
  const recorder = new Recorder(send);
  const patch = new ConsolePatch(recorder);
  port.onmessage = ({ data }: MessageEvent<ToFrame>) => {
    if (data.type === "execute") {
      recorder.separate();
      answerLine(patch, data.code);
    }
    if (data.type === "restyle") restyle(data.from, data.to);
    if (data.type === "go") location.hash = data.fragment;
    if (data.type !== "ping") return;
    recorder.begin();
    // A page that opens its document again loses its listeners. Adding one twice has no effect.
    listen(patch);
    send({ type: "pong" });
  };
  patch.apply(console);
  giveShims(window, (text) => patch.say("info", [{ type: "text", text }]));
  listen(patch);
  watchKeys(send);
  const reports = { send, say: (text: string) => patch.say("info", [{ type: "text", text }], "") };
  watchLinks(reports);
  watchForms(reports);
  addEventListener.call(window, "load", () => send({ type: "loaded" }));
  send({ type: "written", url: DOCUMENT, insertedLength });
  // Not through the frame's own page, which may be in the same blocked process.
  window.parent.parent.postMessage(HERE, "*", [port2]);
  pause();
}

function restyle(from: string, to: string): void {
  for (const style of document.querySelectorAll("style")) {
    if (style.textContent === from) style.textContent = to;
  }
}

function answerLine(patch: ConsolePatch, code: string): void {
  let value: unknown;
  try {
    value = valueOf(code);
  } catch (error) {
    return uncaught(patch, "Uncaught", error, "");
  }
  patch.say("log", [new Serialiser().value(value)], "");
}

/** Esc, then Tab, leaves the page, as it leaves the code, even if the page handles Tab itself. */
function watchKeys(send: (message: FromFrame) => void): void {
  let isLeaving = false;
  const press = (event: KeyboardEvent) => {
    if (isLeaving && event.key === "Tab") {
      event.preventDefault();
      event.stopImmediatePropagation();
      send({ type: "leave", isBackwards: event.shiftKey });
    }
    isLeaving = event.key === "Escape" || (isLeaving && event.key === "Shift");
  };
  addEventListener.call(window, "keydown", press as (event: Event) => void, true);
}

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
    // Syntax errors have no stack: the event has their place.
    const place = filename === "" ? "" : `    at ${filename}:${lineno}:${colno}`;
    const thrown: unknown = error ?? message;
    return uncaught(patch, typeof thrown === "string" && error == null ? "" : "Uncaught", thrown, place);
  }
  const element = event.target;
  if (!(element instanceof Element)) return;
  const address = element.getAttribute("src") ?? element.getAttribute("href") ?? "";
  // A violation of the policy is reported for it.
  if (/^(https?:)?\/\//i.test(address)) return;
  const text = t("frame.element-lost", { element: element.localName, address: address.slice(0, 200) });
  patch.say("error", [{ type: "text", text }], "");
}

function uncaught(patch: ConsolePatch, title: string, thrown: unknown, place: string): void {
  const value = new Serialiser().argument(thrown);
  const stack = value.type === "error" && value.stack !== "" && hasFrames(value.stack) ? value.stack : place;
  patch.sayUncaught(title === "" ? [value] : [{ type: "text", text: title }, value], stack);
}

function hasFrames(stack: string): boolean {
  return /:\d+:\d+/.test(stack);
}

function blocked(patch: ConsolePatch, event: SecurityPolicyViolationEvent): void {
  const uri = event.blockedURI.slice(0, 200);
  const text = t("frame.not-loaded", { address: uri });
  const url = event.sourceFile === "about" ? DOCUMENT : event.sourceFile;
  const isKnown = url !== "" && event.lineNumber > 0;
  const place = `    at ${url}:${event.lineNumber}:${event.columnNumber}`;
  patch.say("error", [{ type: "text", text }], isKnown ? place : "");
}
