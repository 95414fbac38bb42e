// The definitions of languages/, as the server gives them to the page
// (crates/languages/src/editor.rs).

import { parse } from "smol-toml";

import type { LanguageSettings } from "../src/config";
import type { LanguageNames } from "../src/embed-js/names";
import type { CompletionData, MembersFile, Rule } from "../src/editor/members/library";
import type { Explanation } from "../src/errors/explain";

const texts = import.meta.glob<string>("../../languages/*/language.toml", { query: "?raw", import: "default", eager: true });

interface Definition {
  order?: number;
  aliases?: string[];
  extensions?: string[];
  fallback_extensions?: string[];
  editor?: {
    grammar?: string | Record<string, string>;
    symbols?: string;
    completion?: LanguageSettings["completion"];
    snippets?: Record<string, string>;
    members?: { file: string; values?: Rule[]; declares?: Rule[] };
    messages?: { format?: string; places?: string[]; heads?: string[]; feet?: string[]; explanations?: Explanation[] };
    draws?: string;
    formatter?: string;
    input?: { reads: string; reads_silently?: string; error?: string; likely_error?: string; crashes?: boolean; comment?: string };
  };
}

const definitions = Object.entries(texts)
  .map(([path, text]) => ({ id: path.split("/").at(-2) ?? "", definition: parse(text) as unknown as Definition }))
  .sort((a, b) => (a.definition.order ?? Infinity) - (b.definition.order ?? Infinity));

export const languages: readonly string[] = definitions.map(({ id }) => id);

export const names: LanguageNames = Object.fromEntries(
  definitions.map(({ id, definition }) => [id, definition.aliases ?? []]),
);

export const explanationsOf = (language: string): readonly Explanation[] =>
  definitionOf(language).editor?.messages?.explanations ?? [];

/** The snippets and rules of a language, with these members in place of those of its image. */
export function completionsOf(language: string, members: MembersFile): CompletionData {
  const { snippets = {}, members: { values = [], declares = [] } = {} } = definitionOf(language).editor ?? {};
  return { snippets, values, declares, members };
}

export function settingsOf(language: string): LanguageSettings {
  const { extensions: own = [], fallback_extensions: fallback = [], editor = {} } = definitionOf(language);
  const extensions = [...own, ...fallback];
  const { grammar = {}, symbols, completion = {}, messages = {}, input, draws, formatter } = editor;
  return {
    grammars: typeof grammar === "string" ? Object.fromEntries(extensions.map((ending) => [ending, grammar])) : grammar,
    extensions,
    ...(symbols === undefined ? {} : { symbols }),
    completion,
    messages: { places: [], ...messages },
    ...(draws === undefined ? {} : { draws }),
    ...(formatter === undefined ? {} : { formatter }),
    ...(input === undefined ? {} : { input: camelCase(input) as unknown as NonNullable<LanguageSettings["input"]> }),
  };
}

function definitionOf(language: string): Definition {
  const found = definitions.find(({ id }) => id === language);
  if (found === undefined) throw new Error(`no language ${language}`);
  return found.definition;
}

function camelCase(fields: object): object {
  const renamed = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [renamed(name), value as unknown]));
}
