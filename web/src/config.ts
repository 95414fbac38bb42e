// The settings of the page, from the server and from its URL.

import type { LanguageNames } from "./embed-js/names";
import type { Words } from "./messages";
import type { SourceFile } from "./workspace";

/** The settings that the server writes into the page (crates/server/src/embed/page.rs). */
export interface PageConfig {
  /** The value of `language` in requests. */
  language: string;
  /** Its name for people. */
  title: string;
  /** The aliases of every language of the server, by its id. */
  names: LanguageNames;
  entryFile: string;
  files: SourceFile[];
  /** Whether programs get standard input. */
  takesStdin: boolean;
  /** Whether the server returns the files that programs leave. */
  artifacts: boolean;
  /** Whether the server has live runs. */
  live: boolean;
  /** The kind of stdout. */
  output: "text" | "tables" | "document";
  editor: LanguageSettings;
  /** The words of the page until the others are loaded (web/src/messages.ts). */
  words: Words;
  /** The URL of the messages' explanations (web/src/errors/explain.ts). */
  explanations: string | null;
  /** The URL of the snippets and members (web/src/editor/members). */
  completions: string | null;
  /** For the styles that the editor makes. */
  nonce: string;
  /** The URL of the preview frame; relative unless it has an origin of its own. */
  previewUrl: string;
}

/** `[editor]` of the language's definition; crates/languages/src/editor.rs documents each field. */
export interface LanguageSettings {
  /** The name of the grammar, by the ending of a file's name. */
  grammars: Readonly<Record<string, string>>;
  /** The endings of the language's files. */
  extensions: readonly string[];
  symbols?: string;
  completion: {
    module?: string;
    keywords?: string;
    functions?: string;
    types?: string;
    words?: Readonly<Record<string, string>>;
  };
  messages: MessageSettings;
  input?: InputSettings;
  /** A pattern of source code that makes pictures. */
  draws?: string;
  /** A program of the language that formats the file whose path it reads. */
  formatter?: string;
}

export interface MessageSettings {
  /** The name of the reader of messages that patterns do not describe. */
  format?: string;
  /** Patterns of places in messages. */
  places: readonly string[];
  /** Patterns of messages whose places come below them. */
  heads?: readonly string[];
  /** Patterns of messages whose places come above them. */
  feet?: readonly string[];
}

export interface InputSettings {
  reads: string;
  readsSilently?: string;
  error?: string;
  likelyError?: string;
  crashes?: boolean;
  comment?: string;
}

export type ThemeChoice = "auto" | "light" | "dark";
export type Part = "stdin" | "tabs" | "toolbar" | "output" | "console";

/** The parameters of the page's URL. */
export interface Parameters {
  theme: ThemeChoice;
  readonly: boolean;
  hide: ReadonlySet<Part>;
  /** When to run: at a click, or as soon as the page is loaded. */
  run: "click" | "load";
  layout: "auto" | "rows" | "cols";
  /** Whether files can be added, renamed and removed. */
  files: "edit" | "fixed";
  lineNumbers: boolean;
  wrap: boolean;
  /** The address that Run calls, unless something needs more than `compile` answers. */
  api: "compile" | "run";
  /** Whether a change of a stylesheet is shown at once. */
  refresh: boolean;
  /** Whether the files that a program leaves are shown. */
  artifacts: boolean;
  /** Whether the warnings of a compiler that succeeded are shown. */
  warnings: boolean;
  /** When input is typed: while the program runs, before, or as the person chooses. */
  input: "auto" | "before" | "live";
  fontSize: number;
  tabSize: number;
  /** Distinguishes the saved edits of pages of one language; if it is empty, nothing is saved. */
  autosave: string;
  /** The only origin whose commands are accepted; `null` for any origin of the embedding page. */
  parentOrigin: string | null;
}

export function readConfig(document: Document): PageConfig {
  const text = document.getElementById("config")?.textContent ?? "";
  return JSON.parse(text) as PageConfig;
}

export function readParameters(search: string): Parameters {
  const query = new URLSearchParams(search);
  const parts: readonly Part[] = ["stdin", "tabs", "toolbar", "output", "console"];
  const hidden = (query.get("hide") ?? "").split(",");
  return {
    theme: oneOf(query.get("theme"), ["auto", "light", "dark"]),
    readonly: flag(query.get("readonly"), false),
    hide: new Set(parts.filter((part) => hidden.includes(part))),
    run: oneOf(query.get("run"), ["click", "load"]),
    layout: oneOf(query.get("layout"), ["auto", "rows", "cols"]),
    files: oneOf(query.get("files"), ["edit", "fixed"]),
    lineNumbers: flag(query.get("lines"), true),
    wrap: flag(query.get("wrap"), false),
    api: oneOf(query.get("api"), ["compile", "run"]),
    refresh: flag(query.get("refresh"), false),
    artifacts: flag(query.get("artifacts"), false),
    warnings: flag(query.get("warnings"), false),
    input: oneOf(query.get("input"), ["auto", "before", "live"]),
    fontSize: between(query.get("fontSize"), 14, 10, 32),
    tabSize: between(query.get("tabSize"), 4, 1, 8),
    autosave: query.get("autosave") ?? "page",
    parentOrigin: query.get("parentOrigin"),
  };
}

/** The value if it is one of `values`, else the first of them. */
function oneOf<const T extends string>(value: string | null, values: readonly [T, ...T[]]): T {
  return values.find((known) => known === value) ?? values[0];
}

function flag(value: string | null, fallback: boolean): boolean {
  if (value === null) return fallback;
  return !["0", "false", "no", "off"].includes(value.toLowerCase());
}

function between(value: string | null, fallback: number, least: number, most: number): number {
  const number = Number.parseInt(value ?? "", 10);
  return Number.isNaN(number) ? fallback : Math.min(Math.max(number, least), most);
}
