// Which grammar a file has. Each is a chunk of its own; the server preloads
// that of the page's language by the names of these modules.

import type { Extension } from "@codemirror/state";

import { endingOf } from "../workspace";

type Grammar = () => Promise<{ extension: (path: string) => Extension }>;

const python: Grammar = () => import("./languages/python");
const cpp: Grammar = () => import("./languages/cpp");
const java: Grammar = () => import("./languages/java");
const php: Grammar = () => import("./languages/php");
const csharp: Grammar = () => import("./languages/csharp");
const mongodb: Grammar = () => import("./languages/mongodb");
const mysql: Grammar = () => import("./languages/mysql");
const javascript: Grammar = () => import("./languages/javascript");
const html: Grammar = () => import("./languages/html");
const css: Grammar = () => import("./languages/css");
const vue: Grammar = () => import("./languages/vue");
const json: Grammar = () => import("./languages/json");

const byEnding: ReadonlyMap<string, Grammar> = new Map(Object.entries({
  py: python,
  c: cpp,
  h: cpp,
  cpp,
  cc: cpp,
  cxx: cpp,
  "c++": cpp,
  hpp: cpp,
  hh: cpp,
  java,
  php,
  cs: csharp,
  sql: mysql,
  js: javascript,
  mjs: javascript,
  cjs: javascript,
  jsx: javascript,
  ts: javascript,
  tsx: javascript,
  html,
  htm: html,
  svg: html,
  xml: html,
  css,
  vue,
  json,
}));

/** The grammar of the file at `path` in a page of `language`; nothing for plain text. */
export async function grammarOf(path: string, language: string): Promise<Extension> {
  const known = byEnding.get(endingOf(path));
  if (known === undefined) return [];
  const grammar = language === "mongodb" && known === javascript ? mongodb : known;
  return (await grammar()).extension(path);
}
