// The console's lines of a page, with its errors and where they are, its dialogs and the requests that it tried.

import type { Page } from "@playwright/test";

import { type Document, type Parsed, type Place, placesIn } from "./scripts";

/** A value as DevTools tells of it. */
interface Value {
  type: string;
  subtype?: string;
  value?: unknown;
  description?: string;
  preview?: { properties: { name: string; value?: string }[] };
}

/** Gives words for the innermost of these places that is the submission's, if one is. */
type Placing = (frames: Place[]) => string;

/** Listens from now on to a page that is to load `url`; gives all that was said, when it is asked. */
export async function listen(page: Page, url: string, document: Document) {
  // Errors are placed when all scripts are known.
  const lines: ((placing: Placing) => string)[] = [];
  const scripts: Parsed[] = [];
  const requested = new Set<string>();
  const folder = new URL(".", url).href;
  const request = (address: string) => {
    if (/^(data|blob|about):/.test(address) || address === url) return;
    requested.add(address);
    // An address in the document's folder is one that the document gave relatively.
    lines.push(() => `request: ${address.replace(folder, "")}`);
  };
  page.on("request", (each) => request(each.url()));
  page.on("websocket", (socket) => request(socket.url()));
  page.on("dialog", (dialog) => {
    lines.push(() => `${dialog.type()}: ${dialog.message()}`);
    void dialog.accept(dialog.defaultValue());
  });

  // Playwright's own events have no -0 and no 3n, nor do they tell a promise's error from another or where a script is.
  const session = await page.context().newCDPSession(page);
  session.on("Debugger.scriptParsed", (script) => scripts.push(script));
  session.on("Runtime.consoleAPICalled", ({ type, args }) => {
    lines.push((placing) => `${type}: ${formatted(args, (value) => reported(value, placing))}`);
  });
  session.on("Runtime.exceptionThrown", ({ exceptionDetails: { text, exception, url: of = "", ...at } }) => {
    const thrown: Value = exception ?? { type: "undefined" };
    const here = { url: of, line: at.lineNumber + 1, column: at.columnNumber + 1 };
    const hasStack = thrown.subtype === "error" && framesOf(thrown).length > 0;
    lines.push((placing) => `${text.toLowerCase()}: ${reported(thrown, placing)}${hasStack ? "" : placing([here])}`);
  });
  session.on("Log.entryAdded", ({ entry: { source, level, text } }) => {
    // It follows a request, which has its line.
    if (source === "network") return;
    const refused = /^Not allowed to load local resource: (.*)$/.exec(text)?.[1];
    if (refused === undefined) lines.push(() => `browser ${level}: ${text.replaceAll(folder, "")}`);
    else if (!requested.has(refused)) request(refused);
  });
  await session.send("Debugger.enable");
  // A submitted `debugger;` stops nothing.
  await session.send("Debugger.setSkipAllPauses", { skip: true });
  await session.send("Runtime.enable");
  await session.send("Log.enable");

  return () => {
    const { placing, strangers } = placesIn(document, scripts);
    return { console: lines.map((line) => line(placing)), strangers };
  };
}

function reported(value: Value, placing: Placing): string {
  if (value.subtype !== "error") return shown(value);
  return (value.description ?? "").split("\n    at ")[0] + placing(framesOf(value));
}

/** The frames of an error's stack, the innermost first. */
function framesOf({ description = "" }: Value): Place[] {
  const frames = description.matchAll(/^ {4}at (?:.* \()?(.+):(\d+):(\d+)\)?$/gm);
  return [...frames].map(([, url = "", line, column]) => ({ url, line: Number(line), column: Number(column) }));
}

/** The arguments of a console call as one text; the first may be a format. */
function formatted([first, ...rest]: Value[], textOf: (value: Value) => string): string {
  if (first === undefined) return "";
  if (first.type !== "string" || rest.length === 0) return [first, ...rest].map(textOf).join(" ");
  const head = textOf(first).replace(/%([sdifoOc%])/g, (all, kind) => {
    if (kind === "%") return "%";
    const value = rest.shift();
    if (value === undefined) return all;
    // No text shows a style.
    return kind === "c" ? "" : textOf(value);
  });
  return [head, ...rest.map(textOf)].join(" ");
}

/** A value that is no error. */
function shown({ type, subtype, value, description, preview }: Value): string {
  if (preview !== undefined && subtype === "array") return `[${preview.properties.map((item) => item.value).join(", ")}]`;
  if (preview !== undefined && type === "object" && subtype === undefined) {
    return `{${preview.properties.map((item) => `${item.name}: ${item.value}`).join(", ")}}`;
  }
  return description ?? String(value);
}
