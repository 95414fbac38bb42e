// Makes the URL and the height of an editor from the attributes of an element.

/** Attributes that are parameters of the page under the same name. */
const PARAMETERS = [
  "theme", "readonly", "hide", "run", "layout", "files", "lines", "wrap", "fontSize", "tabSize", "api", "artifacts", "input",
  "refresh", "warnings", "ui",
];

export interface CodeFile {
  /** Missing if the editor page may name the only file. */
  path?: string;
  content: string;
  hidden?: true;
  /** All of it, or lines such as `1-3,10-`. */
  locked?: true | string;
}

export interface Wanted {
  language: string;
  /** The page of the server that has the language. */
  address: "embed" | "editor";
  /** The dataset of the element: `data-font-size` is `fontSize`. */
  dataset: Readonly<Record<string, string | undefined>>;
  files: readonly CodeFile[];
}

/** The address of the editor with this code. The code is in the fragment, which is not sent. */
export function frameUrl(base: string, wanted: Wanted, parentOrigin: string, autosave: string): string {
  const { language, address, dataset, files } = wanted;
  const url = new URL(address, base);
  url.searchParams.set("lang", language);
  for (const name of PARAMETERS) {
    const value = dataset[name];
    if (value !== undefined) url.searchParams.set(name, value === "" ? "1" : value);
  }
  url.searchParams.set("autosave", dataset["autosave"] ?? autosave);
  // A page without an origin (a file, a sandbox) cannot be identified: it names none.
  if (/^https?:/.test(parentOrigin)) url.searchParams.set("parentOrigin", parentOrigin);
  if (files.length === 0) return url.href;
  const code = { files, entryFile: dataset["entry"], stdin: dataset["stdin"], expected: dataset["expected"] };
  return `${url.href}#json=${encodeURIComponent(JSON.stringify(code))}`;
}

/** The attributes of an element that may name its language. */
export interface Marked {
  dataset: Readonly<Record<string, string | undefined>>;
  className: string;
}

/** The language that the first of `marked` names: by `data-lang`, or by the class that Markdown gives to code. */
export function namedLanguage(marked: readonly Marked[]): string {
  const names = marked.map(({ dataset, className }) => dataset["lang"] ?? /(?:^|\s)lang(?:uage)?-(\S+)/.exec(className)?.[1]);
  return names.find((name) => name !== undefined) ?? "";
}

/** The file in an element with this code, as its attributes restrict it. */
export function fileOf({ file, hidden, locked }: Wanted["dataset"], code: string): CodeFile {
  return {
    ...(file === undefined ? {} : { path: file }),
    content: tidied(code),
    ...(isSet(hidden) ? { hidden: true } : {}),
    ...(isSet(locked) ? { locked: locked === "" || locked === "true" || locked } : {}),
  };
}

/** Whether an attribute is there, and not `false`, as JSX writes it. */
export function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "false";
}

/** The code without the line break after the tag, and with one at its end. */
function tidied(text: string): string {
  return `${text.replace(/^\r?\n/, "").trimEnd()}\n`;
}

/** The output in an element: without the line break after its tag, of which the browser keeps that of other tags than `<pre>`. */
export function expectedOf({ localName, textContent }: Pick<Element, "localName" | "textContent">): string {
  const text = textContent ?? "";
  // The end tag may be indented.
  return (localName === "pre" ? text : text.replace(/^\r?\n/, "")).replace(/\n[ \t]*$/, "\n");
}

/** The height before the frame reports its own: an estimate of that. */
export function reservedHeight(dataset: Wanted["dataset"], files: readonly CodeFile[], width: number): number {
  const asked = Number.parseInt(dataset["height"] ?? "", 10);
  if (asked > 0) return asked;
  const lines = (files.find((file) => file.hidden !== true)?.content ?? "").split("\n").length;
  const isStacked = width > 0 && width <= 640;
  return Math.min(Math.min(Math.max(lines * 21 + 100, 280), 620) + (isStacked ? 160 : 0), maxHeightOf(dataset));
}

/** Whether the frame may grow with its contents. */
export function canGrow(dataset: Wanted["dataset"]): boolean {
  return !(Number.parseInt(dataset["height"] ?? "", 10) > 0);
}

/** The height after the frame has reported `wanted`: never less than before, so that nothing on the page moves up. */
export function grownHeight(dataset: Wanted["dataset"], now: number, wanted: unknown): number {
  return typeof wanted === "number" && wanted > now ? Math.min(Math.ceil(wanted), Math.max(maxHeightOf(dataset), now)) : now;
}

function maxHeightOf(dataset: Wanted["dataset"]): number {
  return Number.parseInt(dataset["maxHeight"] ?? "", 10) || 900;
}

/**
 * Identifies an editor by its page, language and files, without their names. Parameters of campaigns do not count, nor
 * does the place in the page; but some sites have their pages in the fragment.
 */
export function keyOf(
  { pathname, search, hash }: Pick<Location, "pathname" | "search" | "hash">, language: string, files: readonly CodeFile[],
): string {
  const query = [...new URLSearchParams(search)].filter(([name]) => !/^utm_|clid$/.test(name));
  const page = pathname + (query.length === 0 ? "" : `?${new URLSearchParams(query)}`) + (/^#[/!][^#?]*/.exec(hash)?.[0] ?? "");
  return shortHash(page + language + JSON.stringify(files.map((file) => file.path)));
}

function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash >>> 0).toString(36);
}
