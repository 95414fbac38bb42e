// The arguments of a console call as values. The first may be a format.

import type { Styled, Table, Value } from "./protocol";
import { MAX_CHARACTERS, MAX_KEYS, MAX_STYLE } from "./protocol";
import { Serialiser, brief } from "./serialise";

const MAX_COLUMNS = 20;
/** Characters of a column's name. */
const MAX_COLUMN = 200;

/** Applies the formats of the console's standard: %s %d %i %f %o %O %c and %%. */
export function formatted(args: readonly unknown[]): Value[] {
  const serialiser = new Serialiser();
  const [format, ...rest] = args.slice(0, MAX_KEYS);
  if (typeof format !== "string" || rest.length === 0 || !format.includes("%")) {
    return args.slice(0, MAX_KEYS).map((argument) => serialiser.argument(argument));
  }
  const values: Value[] = [];
  let words = "";
  let at = 0;
  let parts: Styled[] = [];
  let style = "";
  const endPart = () => {
    if (words !== "") parts.push({ text: words, style });
    words = "";
  };
  const endWords = () => {
    endPart();
    const isPlain = parts.every((part) => part.style === "");
    if (isPlain && parts.length > 0) values.push(serialiser.argument(parts.map(({ text }) => text).join("")));
    else if (parts.length > 0) values.push(serialiser.styled(parts));
    parts = [];
  };
  for (const found of format.matchAll(/%([sdifoOc%])/g)) {
    const kind = found[1] ?? "";
    words += format.slice(at, found.index);
    at = found.index + 2;
    if (kind === "%") words += "%";
    else if (rest.length === 0) words += found[0];
    else if (kind === "o" || kind === "O") {
      endWords();
      values.push(serialiser.value(rest.shift()));
    } else if (kind === "c") {
      endPart();
      style = brief(rest.shift()).slice(0, MAX_STYLE);
    } else words += put(kind, rest.shift());
  }
  words += format.slice(at);
  endWords();
  return [...values, ...rest.map((argument) => serialiser.argument(argument))];
}

/** The table that console.table shows; `null` if `data` has no rows. */
export function tabled(data: unknown, wanted: unknown): Table | null {
  if (typeof data !== "object" || data === null) return null;
  const named = Array.isArray(wanted) ? wanted.map(String).slice(0, MAX_COLUMNS) : null;
  const rows = members(data);
  const keys = rows.flatMap(([, row]) => (isObject(row) ? members(row).map(([key]) => key) : []));
  const columns = named ?? [...new Set(keys)];
  const shown = columns.slice(0, MAX_COLUMNS);
  const hasPlain = named === null && rows.some(([, row]) => !isObject(row));
  let left = MAX_CHARACTERS;
  const cell = (value: unknown) => {
    const text = left > 0 ? brief(value) : "…";
    left -= text.length;
    return text;
  };
  const cells = rows.map(([index, row]) => {
    const own = new Map(isObject(row) ? members(row) : []);
    const plain = hasPlain ? [isObject(row) ? "" : cell(row)] : [];
    return [cell(index), ...shown.map((column) => (own.has(column) ? cell(own.get(column)) : "")), ...plain];
  });
  return { columns: ["(index)", ...shown.map((column) => column.slice(0, MAX_COLUMN)), ...(hasPlain ? ["Value"] : [])], rows: cells };
}

function put(kind: string, value: unknown): string {
  if (kind === "s") return brief(value);
  if (typeof value === "symbol" || typeof value === "object" || typeof value === "function") return "NaN";
  const number = kind === "f" ? Number.parseFloat(String(value)) : Number.parseInt(String(value), 10);
  return String(number);
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Keys and values, without calling getters. */
function members(value: object): [string, unknown][] {
  if (value instanceof Map) return [...value].slice(0, MAX_KEYS).map(([key, held]) => [brief(key), held]);
  if (value instanceof Set) return [...value].slice(0, MAX_KEYS).map((held, index) => [String(index), held]);
  const found: [string, unknown][] = [];
  for (const key of Object.keys(value).slice(0, MAX_KEYS)) {
    const descriptor = Object.getOwnPropertyDescriptor(value, key);
    found.push([key, descriptor !== undefined && "value" in descriptor ? descriptor.value : "(getter)"]);
  }
  return found;
}
