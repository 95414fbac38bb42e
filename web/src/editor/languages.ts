// The grammars of files. Each is a chunk of its own, a module of the folder
// languages/; the server preloads that of the page's first file by its name.

import type { Language, LanguageSupport } from "@codemirror/language";

import type { LanguageSettings } from "../config";
import { endingOf } from "../workspace";

export type Grammar = Language | LanguageSupport;

const MODULES = import.meta.glob<{ extension: (path: string) => Grammar }>("./languages/*.ts");

/** The grammars of files that belong to programs in several languages, by the ending of the name. */
const SHARED: ReadonlyMap<string, string> = new Map(Object.entries({
  c: "cpp",
  h: "cpp",
  sql: "mysql",
  js: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  jsx: "javascript",
  ts: "javascript",
  tsx: "javascript",
  html: "html",
  htm: "html",
  svg: "html",
  xml: "html",
  css: "css",
  json: "json",
}));

/** The name of the grammar of the file at `path`; `null` for plain text. */
export function grammarName(path: string, { grammars }: LanguageSettings): string | null {
  const ending = endingOf(path);
  const own = Object.hasOwn(grammars, ending) ? grammars[ending] : undefined;
  return own ?? SHARED.get(ending) ?? null;
}

/** The grammar of the file at `path`; `null` for plain text, and if no grammar of that name is bundled. */
export async function grammarOf(path: string, settings: LanguageSettings): Promise<Grammar | null> {
  const name = grammarName(path, settings);
  return name === null ? null : grammarCalled(name, path);
}

/** The grammar of this name for the file at `path`; `null` if it is not bundled. */
export async function grammarCalled(name: string, path: string): Promise<Grammar | null> {
  const module = await MODULES[`./languages/${name}.ts`]?.();
  return module?.extension(path) ?? null;
}
