// Describes values of a page so that they can be sent and shown: limited in
// depth and length, and without calling code of the page.

import { MAX_CHARACTERS, MAX_DEPTH, MAX_KEYS, type Item, type Plain, type Styled, type Value } from "./protocol";

// A page may replace any of these functions, so they are saved before it runs.
const { getOwnPropertyDescriptor, getPrototypeOf, prototype } = Object;
const { ownKeys } = Reflect;
const toTag = prototype.toString;
const toSource = Function.prototype.toString;
const mapEntries = Map.prototype.entries;
const setValues = Set.prototype.values;
const toIso = Date.prototype.toISOString;
const WIDE_KEYS = 10_000;

/** The values of one entry share a limit of characters. */
export class Serialiser {
  private left = MAX_CHARACTERS;
  private readonly around: object[] = [];

  /** Describes an argument of a console call; a string is shown without quotes. */
  argument(value: unknown): Value {
    return typeof value === "string" ? { type: "text", text: this.cut(value) } : this.value(value);
  }

  styled(parts: readonly Styled[]): Value {
    return { type: "styled", parts: parts.slice(0, MAX_KEYS).map(({ text, style }) => ({ text: this.cut(text), style })) };
  }

  value(value: unknown): Value {
    try {
      return this.any(value);
    } catch {
      // A proxy's traps can throw, and a frame's window refuses to be read.
      return this.plain("cut", "(cannot be shown)");
    }
  }

  private any(value: unknown): Value {
    switch (typeof value) {
      case "string":
        return { type: "string", text: this.cut(value) };
      case "number":
        return this.plain("number", Object.is(value, -0) ? "-0" : String(value));
      case "bigint":
        return this.plain("number", `${value}n`);
      case "boolean":
        return this.plain("boolean", String(value));
      case "undefined":
        return this.plain("nothing", "undefined");
      case "symbol":
        return this.plain("symbol", String(value));
      case "function":
        return this.plain("function", functionName(value));
      default:
        return value === null ? this.plain("nothing", "null") : this.object(value as object);
    }
  }

  private object(value: object): Value {
    const error = errorOf(value);
    if (error !== null) {
      return { type: "error", text: this.cut(error.text), stack: this.cut(error.stack) };
    }
    const node = nodeText(value);
    if (node !== null) return this.plain("node", node);
    const tag = (toTag.call(value) as string).slice(8, -1);
    if (tag === "Date" && value instanceof Date) return this.plain("number", dateText(value));
    if (tag === "RegExp" && value instanceof RegExp) return this.plain("symbol", regex(value));
    const name = nameOf(value, tag);
    if (this.around.includes(value)) return this.plain("cut", `${name} (contains itself)`);
    if (this.around.length >= MAX_DEPTH || this.left <= 0) return this.plain("cut", `${name} …`);
    this.around.push(value);
    try {
      return this.members(value, name);
    } finally {
      this.around.pop();
    }
  }

  private members(value: object, name: string): Value {
    const items: Item[] = [];
    const size = value instanceof Map || value instanceof Set ? this.collection(value, items) : 0;
    const keys = keysOf(value);
    let more = Math.max(0, size - items.length);
    for (const key of keys) {
      if (items.length >= MAX_KEYS || this.left <= 0) {
        more += 1;
        continue;
      }
      const descriptor = getOwnPropertyDescriptor(value, key);
      if (descriptor === undefined) continue;
      const shown = typeof key === "symbol" ? String(key) : key;
      // A getter is code of the page: it is not called.
      const isGetter = descriptor.get !== undefined || descriptor.set !== undefined;
      const item = isGetter ? this.plain("getter", "(getter)") : this.value(descriptor.value);
      items.push({ key: this.cut(shown), value: item });
    }
    return { type: "object", name: this.cut(name), items, more };
  }

  /** Adds the contents of a map or set, and returns their number. */
  private collection(value: Map<unknown, unknown> | Set<unknown>, items: Item[]): number {
    const isMap = value instanceof Map;
    const list: Iterable<unknown> = isMap ? mapEntries.call(value) : setValues.call(value);
    let count = 0;
    for (const one of list) {
      count += 1;
      if (items.length >= MAX_KEYS || this.left <= 0) {
        if (count >= WIDE_KEYS) break;
        continue;
      }
      const [key, held] = isMap ? (one as [unknown, unknown]) : [count - 1, one];
      items.push({ key: isMap ? brief(key) : String(key), value: this.value(held) });
    }
    return count;
  }

  private plain(kind: Plain, text: string): Value {
    return { type: "plain", kind, text: this.cut(text) };
  }

  private cut(text: string): string {
    const shown = text.length > this.left ? `${text.slice(0, Math.max(0, this.left))}…` : text;
    this.left -= shown.length;
    return shown;
  }
}

/** A value in a few words, as a cell of a table or the key of a map has it. */
export function brief(value: unknown): string {
  if (typeof value === "string") return value.slice(0, 200);
  const found = new Serialiser().value(value);
  if (found.type === "object") return found.name;
  return "text" in found ? found.text.slice(0, 200) : "";
}

/** The message and stack of an error. Only its own fields are read, never a getter of the page. */
function errorOf(value: object): { text: string; stack: string } | null {
  const isError = value instanceof Error || toTag.call(value) === "[object Error]";
  const isException = typeof DOMException === "function" && value instanceof DOMException;
  if (!isError && !isException) return null;
  const { name, message, stack } = value as Error;
  const title = `${String(name)}${String(message) === "" ? "" : `: ${String(message)}`}`;
  return { text: title, stack: typeof stack === "string" ? stack : "" };
}

function nodeText(value: object): string | null {
  if (typeof Node !== "function" || !(value instanceof Node)) return null;
  if (value instanceof Element) {
    // Not outerHTML of a copy: that would run the constructors of elements of the page's own.
    const list = [...value.attributes].map(({ name, value: text }) => ` ${name}="${text}"`).join("");
    return `<${value.localName}${list}>${value.childNodes.length > 0 ? `…</${value.localName}>` : ""}`;
  }
  return value.nodeType === 3 ? `#text ${JSON.stringify(value.nodeValue)}` : value.nodeName;
}

function nameOf(value: object, tag: string): string {
  if (Array.isArray(value)) return `Array(${value.length})`;
  if (value instanceof Map || value instanceof Set) {
    return `${value instanceof Map ? "Map" : "Set"}(${value.size})`;
  }
  if (ArrayBuffer.isView(value) && "length" in value) return `${tag}(${String(value.length)})`;
  const above: unknown = getPrototypeOf(value);
  if (above === null) return "Object";
  const constructor = getOwnPropertyDescriptor(above as object, "constructor")?.value as unknown;
  if (typeof constructor !== "function") return tag;
  const name = getOwnPropertyDescriptor(constructor, "name")?.value as unknown;
  return typeof name === "string" && name !== "" ? name : tag;
}

/** The keys to show: indices of a list, else enumerable keys, up to WIDE_KEYS. */
function keysOf(value: object): (string | symbol)[] {
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && "length" in value)) {
    const length = Math.min(Number(value.length), WIDE_KEYS);
    return Array.from({ length }, (_, index) => String(index));
  }
  const isShown = (key: string | symbol) => getOwnPropertyDescriptor(value, key)?.enumerable === true;
  return ownKeys(value).slice(0, WIDE_KEYS).filter(isShown);
}

function functionName(value: object): string {
  const name = getOwnPropertyDescriptor(value, "name")?.value as unknown;
  const isClass = (toSource.call(value) as string).startsWith("class");
  const words = typeof name === "string" && name !== "" ? ` ${name}` : "";
  return isClass ? `class${words}` : `ƒ${words}()`;
}

function dateText(value: Date): string {
  return Number.isNaN(+value) ? "Invalid Date" : (toIso.call(value) as string);
}

function regex(value: RegExp): string {
  return `/${value.source}/${value.flags}`;
}
