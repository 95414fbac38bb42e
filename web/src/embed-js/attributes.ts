// From the attributes of an element to what the editor page is asked for.

/** Attributes that are parameters of the page under the same name. */
const PARAMETERS = ["theme", "readonly", "hide", "run", "layout", "files", "lines", "wrap", "fontSize", "tabSize"];

export interface CodeFile {
  /** Missing where the page may name the only file. */
  path?: string;
  content: string;
}

export interface Wanted {
  language: string;
  /** Of the element: `data-font-size` is `fontSize`. */
  dataset: Readonly<Record<string, string | undefined>>;
  files: readonly CodeFile[];
}

/** The address of the editor with this code. The code is in the fragment, which is not sent. */
export function frameUrl(base: string, wanted: Wanted, parentOrigin: string, autosave: string): string {
  const { language, dataset, files } = wanted;
  const url = new URL("embed", base);
  url.searchParams.set("lang", language);
  for (const name of PARAMETERS) {
    const value = dataset[name];
    if (value !== undefined) url.searchParams.set(name, value === "" ? "1" : value);
  }
  url.searchParams.set("autosave", dataset["autosave"] ?? autosave);
  // A page of no origin (a file, a sandbox) cannot be told apart: it names none.
  if (/^https?:/.test(parentOrigin)) url.searchParams.set("parentOrigin", parentOrigin);
  if (files.length === 0) return url.href;
  const code = { files, entryFile: dataset["entry"], stdin: dataset["stdin"] };
  return `${url.href}#json=${encodeURIComponent(JSON.stringify(code))}`;
}

/** The part of an element of a page that says what it holds. */
export interface Marked {
  dataset: Readonly<Record<string, string | undefined>>;
  className: string;
}

/** The language that the first of `marked` names: by `data-lang`, or by the class that Markdown gives to code. */
export function namedLanguage(marked: readonly Marked[]): string {
  const names = marked.map(({ dataset, className }) => dataset["lang"] ?? /(?:^|\s)lang(?:uage)?-(\S+)/.exec(className)?.[1]);
  return names.find((name) => name !== undefined) ?? "";
}

/** Code as it was meant: without the line break after the tag, and one at its end. */
export function tidied(text: string): string {
  return `${text.replace(/^\r?\n/, "").trimEnd()}\n`;
}

/** What the frame gets before it says what it wants: about what it will want. */
export function reservedHeight(dataset: Wanted["dataset"], files: readonly CodeFile[], width: number): number {
  const asked = Number.parseInt(dataset["height"] ?? "", 10);
  if (asked > 0) return asked;
  const lines = (files[0]?.content ?? "").split("\n").length;
  const isStacked = width > 0 && width <= 640;
  return Math.min(Math.max(lines * 21 + 100, 280), 620) + (isStacked ? 160 : 0);
}

/** Whether the frame may grow with what it holds. */
export function canGrow(dataset: Wanted["dataset"]): boolean {
  return !(Number.parseInt(dataset["height"] ?? "", 10) > 0);
}

/** The height for what the frame wants: never less than before, so that nothing jumps up. */
export function grownHeight(dataset: Wanted["dataset"], now: number, wanted: unknown): number {
  const most = Number.parseInt(dataset["maxHeight"] ?? "", 10) || 900;
  return typeof wanted === "number" && wanted > now ? Math.min(Math.ceil(wanted), Math.max(most, now)) : now;
}

/** Tells the pages of a site apart without naming them. */
export function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash >>> 0).toString(36);
}
