// The words of the page: complete in every language, used, and nowhere else.

import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";

import { expect, test } from "vitest";

import english from "../src/locales/en.json";
import { number, speak, t, type Words } from "../src/messages";
import { summary } from "../src/run/words";

const LOCALES = "src/locales";
const TEMPLATES = "../crates/server/src/embed";
const words = new Map(
  readdirSync(LOCALES).map((name) => [name.replace(".json", ""), JSON.parse(readFileSync(join(LOCALES, name), "utf8")) as Words]),
);
const sources = new Map(
  readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => [path, readFileSync(join("src", path), "utf8")]),
);
const template = readFileSync(`${TEMPLATES}/editor.html`, "utf8");
/** It makes the list of languages. */
const renderer = readFileSync(`${TEMPLATES}/page.rs`, "utf8");

const formsOf = (message: Words[string] | undefined) => (typeof message === "object" ? Object.values(message) : [message ?? ""]);
/** A dollar stands for a value of CodeMirror. */
const placeholders = (text: string) => [...text.matchAll(/\{\w+\}|\$/g)].map(([name]) => name).sort();
const keysIn = (text: string) => [...text.matchAll(/["`]([a-z]+\.[\w-]+)["`]/g)].flatMap(([, key = ""]) => (key in english ? [key] : []));

test.each([...words.keys()])("%s has the words of English, with their values and its own plural forms", (tag) => {
  const own = words.get(tag) ?? {};
  expect(Object.keys(own)).toEqual(Object.keys(english));
  const { pluralCategories } = new Intl.PluralRules(tag).resolvedOptions();
  for (const [key, model] of Object.entries(english as Words)) {
    const message = own[key] ?? "";
    const forms = typeof message === "string" ? { other: message } : message;
    const categories = typeof model === "string" ? ["other"] : pluralCategories;
    expect(Object.keys(forms).toSorted(), key).toEqual(categories.toSorted());
    const wanted = placeholders(formsOf(model).at(-1) ?? "");
    for (const [category, text] of Object.entries(forms)) {
      expect(text.trim(), key).toBe(text);
      expect(text, key).not.toBe("");
      // A form that stands for one number may say it in a word.
      const isOne = ["zero", "one", "two"].includes(category);
      const found = placeholders(text);
      const expected = isOne && !found.includes("{n}") ? wanted.filter((name) => name !== "{n}") : wanted;
      expect(found, `${key}, ${category}`).toEqual(expected);
    }
  }
});

test("every key is used", () => {
  const named = [...template.matchAll(/\{\{(page\.[\w-]+)\}\}/g), ...renderer.matchAll(/"(page\.[\w-]+)"/g)];
  const inTemplate = named.map(([, key = ""]) => key);
  expect(inTemplate.filter((key) => !(key in english))).toEqual([]);
  const used = new Set([...inTemplate, ...[...sources.values()].flatMap(keysIn)]);
  expect(Object.keys(english).filter((key) => !used.has(key))).toEqual([]);
});

test("a call has the values of its words", () => {
  const calls = [...sources.values()].flatMap((text) => [...text.matchAll(/\bt\("([\w.-]+)"(?:\)|, \{ ([^}]*) \})/g)]);
  expect(calls.length).toBeGreaterThan(100);
  for (const [call, key = "", given = ""] of calls) {
    const names = given.split(", ").flatMap((part) => /^[a-z]\w*/.exec(part) ?? []);
    const wanted = formsOf((english as Words)[key]).flatMap(placeholders).map((name) => name.slice(1, -1));
    expect(names.toSorted(), call).toEqual([...new Set(wanted)].toSorted());
  }
});

test("what is needed for typing begins with `start.`, and the frame's words with `frame.`", () => {
  const typing = closure("main.ts");
  expect(typing).toContain("files/tabs.ts");
  expect(typing).not.toContain("page.ts");
  const prefixed = (path: string, prefix: string) =>
    keysIn(sources.get(path) ?? "").filter((key) => !key.startsWith(prefix)).map((key) => `${path}: ${key}`);
  expect(typing.flatMap((path) => prefixed(path, "start."))).toEqual([]);
  expect(closure("preview/shell.ts").flatMap((path) => prefixed(path, "frame."))).toEqual([]);
});

/** The modules that a module loads with itself. */
function closure(first: string): string[] {
  const found = new Set([first]);
  for (const path of found) {
    for (const [, name = ""] of (sources.get(path) ?? "").matchAll(/^(?:import|export) (?!type\b)[^;]*?"(\.[^"]+)";/gm)) {
      const target = `${join(dirname(path), name)}.ts`;
      if (sources.has(target)) found.add(target);
    }
  }
  return [...found];
}

/**
 * English for authors of pages and links, not for readers; words that browsers' consoles have in English; the words of
 * CodeMirror that are replaced; and words of compilers that are read.
 */
const OTHERS = /^(?:embed-js|parent)\/|^errors\/(?:pattern|traces)\.ts$|^store\/snapshot\.ts$|^preview\/(?:patch|shell)\.ts$/;
const REPLACED = /const PHRASES[^;]*;/;
const WORDS = [
  // A sentence, or several words.
  /["`](?:[A-Z][a-z]+|\$\{\w+\}:?) [a-z][^"`\n]*["`]/g,
  // Words where readers see or hear them.
  /(?:"aria-label"|title|placeholder|alt|label): ["`][^"`]*[A-Za-z]{3,}[^"`]*["`]/g,
  /textContent = [^;\n]*["`][A-Z]/g,
  /element\([^;\n]*\}, ["`][A-Z][a-z]/g,
  /setAttribute\("(?:aria-label|title)", ["`]/g,
];

test("no words are left in the code", () => {
  const left = [...sources].filter(([path]) => !OTHERS.test(path)).flatMap(([path, text]) => {
    const code = text.replace(REPLACED, "").replace(/^\s*(?:\/\/|\/\*\*|\*).*$/gm, "").replace(/new Error\([^)]*\)|\/\*.*?\*\//g, "");
    return WORDS.flatMap((pattern) => [...code.matchAll(pattern)].map(([found]) => `${path}: ${found}`));
  });
  expect(left).toEqual([]);
  const markup = template.split("\n").slice(1).join("\n").replace(/\{\{[\w.-]+\}\}/g, "");
  expect([...markup.matchAll(/>([^<]*[A-Za-z]{2,}[^<]*)</g)].map(([, text]) => text)).toEqual([" (stdin)"]);
  expect(markup).not.toMatch(/(?:title|aria-label|placeholder)="[^"]*[A-Za-z]{2,}/);
});

test("the unit of a limit is that of the language", () => {
  speak("fr", words.get("fr") ?? {});
  expect(summary({ kind: "too-large", message: "larger than 2 MiB" })).toContain("la limite est de 2\u00a0Mio.");
  speak("en", english);
});

test("numbers, plural forms and directions are those of the language", () => {
  const check = (tag: string, expected: readonly string[]) => {
    speak(tag, words.get(tag) ?? {}, tag === "ar");
    const said = [t("output.lines-hidden", { n: 12_345 }), t("run.seconds", { time: number(0.5, 2) })];
    expect(said).toEqual(expected);
    speak("en", english);
  };
  check("en", ["12,345 lines are not shown here.", "0.50 s"]);
  check("de", ["12.345 Zeilen werden hier nicht angezeigt.", "0,50\u00a0s"]);
  check("fr", ["12\u202f345 lignes ne sont pas affichées ici.", "0,50\u00a0s"]);
  check("zh-CN", ["此处有 12,345 行未显示。", "0.50\u00a0秒"]);
  check("ar", ["12,345 سطرًا غير معروض هنا.", "\u20680.50\u2069\u00a0ث"]);
});
