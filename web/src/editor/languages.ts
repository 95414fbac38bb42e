// Which grammar a file has. Each is a chunk of its own; the server preloads
// that of the page's language by the names of these modules.

import type { Extension } from "@codemirror/state";

import { endingOf } from "../workspace";

type Grammar = () => Promise<{ extension: (path: string) => Extension }>;

const GRAMMARS = {
  python: () => import("./languages/python"),
  cpp: () => import("./languages/cpp"),
  java: () => import("./languages/java"),
  php: () => import("./languages/php"),
  csharp: () => import("./languages/csharp"),
  mysql: () => import("./languages/mysql"),
  javascript: () => import("./languages/javascript"),
  html: () => import("./languages/html"),
  css: () => import("./languages/css"),
  vue: () => import("./languages/vue"),
  json: () => import("./languages/json"),
} satisfies Record<string, Grammar>;

export type GrammarName = keyof typeof GRAMMARS;

const BY_ENDING: ReadonlyMap<string, GrammarName> = new Map(Object.entries({
  py: "python",
  c: "cpp",
  h: "cpp",
  cpp: "cpp",
  cc: "cpp",
  cxx: "cpp",
  "c++": "cpp",
  hpp: "cpp",
  hh: "cpp",
  java: "java",
  php: "php",
  cs: "csharp",
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
  vue: "vue",
  json: "json",
} as const));

/** Which grammar the file at `path` has; `null` for plain text. */
export function grammarName(path: string): GrammarName | null {
  return BY_ENDING.get(endingOf(path)) ?? null;
}

/** What typing needs to know of the language of the file at `path`; nothing for plain text. */
export async function grammarOf(path: string): Promise<Extension> {
  const name = grammarName(path);
  return name === null ? [] : (await GRAMMARS[name]()).extension(path);
}
