// The messages between the editor and the frame of a preview, over their port.
// The frame runs code that nobody trusts: every message is checked before use.

/** The message from the editor to the frame's own page. */
export interface Opening {
  sandpiper: "preview";
  html: string;
  /** The permissions of the document. */
  sandbox: string;
  /** The words of our code in the frame. */
  words: Readonly<Record<string, string>>;
}

/** The message from the document to the editor; a port comes with it. */
export const HERE = "sandpiper-preview";

/** The message of the frame's own page when its inner frame has loaded any document. */
export const LOADED = "sandpiper-preview-loaded";

/** Asks the frame's own page whether something was pressed in the frame in the last seconds, and its answers. */
export const ASK_ACTIVE = "sandpiper-preview-active?";
export const ACTIVE = "sandpiper-preview-active";
export const IDLE = "sandpiper-preview-idle";

export type ToFrame =
  | { type: "ping" }
  /** Executes a line that the person wrote. */
  | { type: "execute"; code: string }
  /** Gives the style elements with this text another. */
  | { type: "restyle"; from: string; to: string }
  /** Scrolls to this part of the page. */
  | { type: "go"; fragment: string };

export type FromFrame =
  /** The document was written. Positions in its scripts have this URL, and come after this many inserted characters. */
  | { type: "written"; url: string; insertedLength: number }
  | { type: "pong" }
  /** The document is loaded. */
  | { type: "loaded" }
  | { type: "entry"; entry: Entry }
  /** The last entry was repeated this many times. */
  | { type: "repeat"; count: number }
  /** This many entries were left out. */
  | { type: "dropped"; count: number }
  /** The person leaves the page with the keyboard. */
  | { type: "leave"; isBackwards: boolean }
  /** The person follows a link, or sends a form; then `form` has the words for its fields. */
  | { type: "follow"; address: string; form: string }
  /** The page would download a file: this content, or without one a file of the program. */
  | { type: "save"; name: string; address: string; content: Blob | null }
  | { type: "clear" };

const LEVELS = ["debug", "log", "info", "warn", "error"] as const;
export type Level = (typeof LEVELS)[number];

/** One line of the console. */
export interface Entry {
  level: Level;
  values: Value[];
  /** The number of groups that it is in. */
  depth: number;
  table: Table | null;
  /** The stack of the call, as the browser writes it; empty if it is not known. */
  stack: string;
  /** Whether it is an error that nobody caught. */
  isUncaught: boolean;
}

export interface Table {
  columns: string[];
  rows: string[][];
}

/** A description of a value of the page. */
export type Value =
  /** Plain text. */
  | { type: "text"; text: string }
  /** Plain text, in parts with styles as CSS, which are not checked. */
  | { type: "styled"; parts: Styled[] }
  /** A string inside another value, shown in quotes. */
  | { type: "string"; text: string }
  /** Number, symbol, function, element, …: one line. */
  | { type: "plain"; kind: Plain; text: string }
  | { type: "error"; text: string; stack: string }
  | { type: "object"; name: string; items: Item[]; more: number };

export const PLAIN = ["number", "boolean", "nothing", "symbol", "function", "node", "getter", "cut"] as const;
export type Plain = (typeof PLAIN)[number];

export interface Styled {
  text: string;
  style: string;
}

export interface Item {
  key: string;
  value: Value;
}

/** Entries that are sent until the console is cleared; further ones are counted. */
export const MAX_ENTRIES = 1000;
/** The depth to which objects are shown. */
export const MAX_DEPTH = 4;
/** Keys of an object that are shown. */
export const MAX_KEYS = 100;
/** Characters of all values of an entry. */
export const MAX_CHARACTERS = 10_000;
/** Entries that are sent between two pings: a page can clear its console again and again. */
export const MAX_AT_ONCE = 2 * MAX_ENTRIES;
/** Characters and values of a message: more than our code sends. */
const MAX_MESSAGE_SIZE = 6 * MAX_CHARACTERS;
/** Bytes of a file that is saved. */
export const MAX_SAVE = 32 << 20;
/** Characters of a line that the page executes. */
export const MAX_CODE = 10_000;
/** Characters of a style. */
export const MAX_STYLE = 500;
/** Characters of an address. */
export const MAX_ADDRESS = 1000;
/** The keys of our messages are shorter. */
const MAX_KEY = 20;
/** The name of our code in stacks. */
export const SHELL_NAME = "sandpiper-preview";

/** The message; `null` if it is not valid, since a page can send anything. */
export function readMessage(data: unknown): FromFrame | null {
  if (isRecord(data) && data["type"] === "save") return readSave(data);
  if (!isRecord(data) || sizeOf(data, MAX_MESSAGE_SIZE) > MAX_MESSAGE_SIZE) return null;
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
    case "follow":
      return isShort(data["address"]) && isShort(data["form"])
        ? { type: "follow", address: data["address"], form: data["form"] }
        : null;
    case "repeat":
    case "dropped":
      return isCount(data["count"]) ? { type: data["type"], count: data["count"] } : null;
    case "entry":
      return isEntry(data["entry"]) ? { type: "entry", entry: data["entry"] } : null;
    default:
      return null;
  }
}

function readSave({ name, address, content }: Record<string, unknown>): FromFrame | null {
  const isContent = content === null || (content instanceof Blob && content.size <= MAX_SAVE);
  return isShort(name) && isShort(address) && isContent ? { type: "save", name, address, content } : null;
}

/** The position where our code runs before all code of the page: after the doctype, which must come first. */
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

/** The end of the comment that starts at `at`, as browsers read it: the end of the document if it is not closed. */
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

function isShort(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_ADDRESS;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= MAX_KEYS && value.every((text) => typeof text === "string");
}

function isEntry(value: unknown): value is Entry {
  if (!isRecord(value)) return false;
  const { level, values, depth, table, stack, isUncaught } = value;
  const isTable =
    table === null ||
    (isRecord(table) &&
      isTexts(table["columns"]) &&
      Array.isArray(table["rows"]) &&
      table["rows"].length <= MAX_KEYS &&
      table["rows"].every(isTexts));
  const isLevel = LEVELS.some((known) => known === level);
  const hasValues = Array.isArray(values) && values.length <= MAX_KEYS && values.every((one) => isValue(one, 0));
  const isEvent = typeof stack === "string" && typeof isUncaught === "boolean";
  return isLevel && hasValues && isCount(depth) && isTable && isEvent;
}

/** The number of characters and parts, counted up to about `most`; infinite for values that messages cannot contain. */
function sizeOf(value: unknown, most: number): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 1;
  const isList = Array.isArray(value);
  // Listing the keys of a large buffer would fill the memory.
  const isPlain = isList ? value.length <= most : Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain || most <= 0) return Infinity;
  let size = 1;
  for (const key in value) {
    size += (key.length > MAX_KEY ? key.length : 0) + sizeOf((value as Record<string, unknown>)[key], most - size);
    if (size > most) break;
  }
  return size;
}

function isValue(value: unknown, depth: number): value is Value {
  if (!isRecord(value) || depth > MAX_DEPTH + 1) return false;
  const { type, text } = value;
  if (type === "object") {
    const { name, items, more } = value;
    const isItem = (item: unknown) =>
      isRecord(item) && typeof item["key"] === "string" && isValue(item["value"], depth + 1);
    const hasItems = Array.isArray(items) && items.length <= MAX_KEYS && items.every(isItem);
    return typeof name === "string" && hasItems && isCount(more);
  }
  if (type === "styled") {
    const { parts } = value;
    const isPart = (part: unknown) =>
      isRecord(part) && typeof part["text"] === "string" && typeof part["style"] === "string" && part["style"].length <= MAX_STYLE;
    return Array.isArray(parts) && parts.length <= MAX_KEYS && parts.every(isPart);
  }
  if (typeof text !== "string") return false;
  if (type === "plain") return PLAIN.some((known) => known === value["kind"]);
  return type === "text" || type === "string" || (type === "error" && typeof value["stack"] === "string");
}
