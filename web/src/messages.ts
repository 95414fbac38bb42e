// The words of the page, in the language of its reader. Every word that a reader
// sees or hears is in locales/, one file for each language. The server writes the
// first part of the page with those that begin with `page.`, and gives those that
// begin with `start.`, which are needed for typing, to the script. All others come
// with page.ts, and must not be used before; those that begin with `frame.` are
// for the code in the frame of the preview.

import { filled } from "./filled";
import type english from "./locales/en.json";

export type Key = keyof typeof english;

/** One form, or one for each plural category of the language, of which `{n}` decides. */
type Message = string | Readonly<Partial<Record<Intl.LDMLPluralRule, string>>>;
export type Words = Readonly<Record<string, Message>>;

const LOCALES = import.meta.glob<{ default: Words }>("./locales/*.json");

let language = "en";
let words: Words = {};
let rules = new Intl.PluralRules(language);
/** Keeps the name of a file, say, from the order of the words around it: Unicode's isolates. */
let isolated = (value: string) => value;

/** Begins with the words that the server has written into the page; `code` is the language. */
export function speak(code: string, given: Words, isRightToLeft = false): void {
  language = code;
  words = given;
  rules = new Intl.PluralRules(code);
  isolated = (value) => (isRightToLeft ? `\u2068${value}\u2069` : value);
}

/** Loads all words of the language. */
export async function learn(): Promise<void> {
  words = (await LOCALES[`./locales/${language}.json`]?.())?.default ?? words;
}

/** The words for a key, with numbers as the language writes them. The number `n` decides the plural form. */
export function t(key: Key, values: Readonly<Record<string, string | number>> = {}): string {
  const message = words[key] ?? key;
  const { n } = values;
  const form = typeof message === "string" ? message : (message[rules.select(Number(n))] ?? message.other ?? key);
  const written = Object.entries(values).map(([name, value]) => [name, typeof value === "number" ? number(value) : isolated(value)]);
  return filled(form, Object.fromEntries(written) as Record<string, string>);
}

/** A number as the language writes it, with this many decimals; with the digits of code. */
export function number(value: number, decimals = 0): string {
  const options = { minimumFractionDigits: decimals, maximumFractionDigits: decimals, numberingSystem: "latn" };
  return new Intl.NumberFormat(language, options).format(value);
}

/** The words of the preview's frame, which has none of its own. */
export function frameWords(): Record<string, string> {
  const own = Object.entries(words).filter(([key]) => key.startsWith("frame."));
  return Object.fromEntries(own.map(([key, message]) => [key, String(message).replace(/\{\w+\}/g, isolated)]));
}
