// What the editor and the frame of a preview say to each other over their port.
// The frame runs code of strangers: whatever it says is checked before use.

/** The message from the editor to the frame's own page. */
export interface Opening {
  sandpiper: "preview";
  html: string;
  /** What the document may do. */
  sandbox: string;
}

/** The message from the document to the editor; a port comes with it. */
export const HERE = "sandpiper-preview";

/** What the frame's own page tells the editor whenever its frame has loaded a document, whichever. */
export const LOADED = "sandpiper-preview-loaded";

export type ToFrame = { type: "ping" };

export type FromFrame =
  /** The document is there; positions of its scripts have this URL, and are behind so many characters of ours. */
  | { type: "written"; url: string; insertedLength: number }
  | { type: "pong" }
  /** The document is loaded. */
  | { type: "loaded" }
  | { type: "entry"; entry: Entry }
  /** The last entry came this many times more. */
  | { type: "repeat"; count: number }
  /** This many entries more were left out. */
  | { type: "dropped"; count: number }
  /** The person leaves the page by keyboard. */
  | { type: "leave"; isBackwards: boolean }
  | { type: "clear" };

const LEVELS = ["debug", "log", "info", "warn", "error"] as const;
export type Level = (typeof LEVELS)[number];

/** One line of the console. */
export interface Entry {
  level: Level;
  values: Value[];
  /** In how many groups it is. */
  depth: number;
  table: Table | null;
  /** Where it was said, as the browser writes stacks; empty where nobody knows. */
  stack: string;
  /** Whether it is an error that nobody caught. */
  isUncaught: boolean;
}

export interface Table {
  columns: string[];
  rows: string[][];
}

/** A value that stands for one of the page's, without being it. */
export type Value =
  /** Words as they are. */
  | { type: "text"; text: string }
  /** A string inside something, shown in quotes. */
  | { type: "string"; text: string }
  /** Number, symbol, function, element, …: one line. */
  | { type: "plain"; kind: Plain; text: string }
  | { type: "error"; text: string; stack: string }
  | { type: "object"; name: string; items: Item[]; more: number };

export const PLAIN = ["number", "boolean", "nothing", "symbol", "function", "node", "getter", "cut"] as const;
export type Plain = (typeof PLAIN)[number];

export interface Item {
  key: string;
  value: Value;
}

/** Entries that are sent until the console is cleared; then they are counted. */
export const MOST_ENTRIES = 1000;
/** How deep objects are shown. */
export const MOST_DEPTH = 4;
/** Keys of an object that are shown. */
export const MOST_KEYS = 100;
/** Characters of an entry, all its values together. */
export const MOST_CHARACTERS = 10_000;
/** Entries that are sent between two pings: a page that clears its console can go on for ever. */
export const MOST_AT_ONCE = 2 * MOST_ENTRIES;
/** Characters and values of a message: more than our own code sends. */
const MOST_OF_MESSAGE = 6 * MOST_CHARACTERS;
/** Keys of messages are shorter. */
const LONG_KEY = 20;
/** By which name stacks call the code of ours in the frame. */
export const SHELL_NAME = "sandpiper-preview";

/** The message, where it is one: a page can send anything. */
export function readMessage(data: unknown): FromFrame | null {
  if (!isRecord(data) || sizeOf(data, MOST_OF_MESSAGE) > MOST_OF_MESSAGE) return null;
  switch (data["type"]) {
    case "pong":
    case "loaded":
    case "clear":
      return { type: data["type"] };
    case "written":
      return typeof data["url"] === "string" && isCount(data["insertedLength"])
        ? { type: "written", url: data["url"], insertedLength: data["insertedLength"] }
        : null;
    case "leave":
      return { type: "leave", isBackwards: data["isBackwards"] === true };
    case "repeat":
    case "dropped":
      return isCount(data["count"]) ? { type: data["type"], count: data["count"] } : null;
    case "entry":
      return isEntry(data["entry"]) ? { type: "entry", entry: data["entry"] } : null;
    default:
      return null;
  }
}

/** Where code of ours can stand before all of the page's: behind its doctype, which must come first. */
export function insertionPoint(html: string): number {
  const space = /\s*/y;
  for (let at = 0; ; ) {
    space.lastIndex = at;
    space.exec(html);
    at = space.lastIndex;
    if (!html.startsWith("<!--", at)) return afterDoctype(html, at);
    at = afterComment(html, at);
  }
}

/** Where a comment that starts at `at` ends, as browsers read it: all of the rest where it is not closed. */
export function afterComment(html: string, at: number): number {
  const end = /-->|(?<!<!)--!>/g;
  end.lastIndex = at + 2;
  return end.test(html) ? end.lastIndex : html.length;
}

function afterDoctype(html: string, at: number): number {
  const doctype = /<!doctype(?=\s)[^>]*>/iy;
  doctype.lastIndex = at;
  return doctype.test(html) ? doctype.lastIndex : 0;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= MOST_KEYS && value.every((text) => typeof text === "string");
}

function isEntry(value: unknown): value is Entry {
  if (!isRecord(value)) return false;
  const { level, values, depth, table, stack, isUncaught } = value;
  const isTable =
    table === null ||
    (isRecord(table) &&
      isTexts(table["columns"]) &&
      Array.isArray(table["rows"]) &&
      table["rows"].length <= MOST_KEYS &&
      table["rows"].every(isTexts));
  const isLevel = LEVELS.some((known) => known === level);
  const hasValues = Array.isArray(values) && values.length <= MOST_KEYS && values.every((one) => isValue(one, 0));
  const isEvent = typeof stack === "string" && typeof isUncaught === "boolean";
  return isLevel && hasValues && isCount(depth) && isTable && isEvent;
}

/** Characters and parts, counted until there are more than `most`; what messages cannot hold is more than any. */
function sizeOf(value: unknown, most: number): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 1;
  const isList = Array.isArray(value);
  // Listing the keys of a large buffer would fill the memory.
  const isPlain = isList ? value.length <= most : Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain || most <= 0) return Infinity;
  let size = 1;
  for (const key in value) {
    size += (key.length > LONG_KEY ? key.length : 0) + sizeOf((value as Record<string, unknown>)[key], most - size);
    if (size > most) break;
  }
  return size;
}

function isValue(value: unknown, depth: number): value is Value {
  if (!isRecord(value) || depth > MOST_DEPTH + 1) return false;
  const { type, text } = value;
  if (type === "object") {
    const { name, items, more } = value;
    const isItem = (item: unknown) =>
      isRecord(item) && typeof item["key"] === "string" && isValue(item["value"], depth + 1);
    const hasItems = Array.isArray(items) && items.length <= MOST_KEYS && items.every(isItem);
    return typeof name === "string" && hasItems && isCount(more);
  }
  if (typeof text !== "string") return false;
  if (type === "plain") return PLAIN.some((known) => known === value["kind"]);
  return type === "text" || type === "string" || (type === "error" && typeof value["stack"] === "string");
}
