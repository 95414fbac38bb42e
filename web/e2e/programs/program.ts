// Programs of tests/programs that print a document, and the tables that say how it looks.

import { readdirSync, readFileSync } from "node:fs";

import { parse } from "smol-toml";

/**
 * The `[page]` table. A key that is left out is not looked at, but for the console,
 * which is then silent, and images, which then have all loaded.
 */
export interface PageTable {
  /** Is there before anything is done or looked at, as a selector. */
  wait_for?: string;
  /** The things that the reader does, in order. */
  actions?: Action[];
  title?: string;
  /** The text that a reader sees. */
  text?: string;
  /** The element whose content `dom` is; the body by default. */
  select?: string;
  dom?: string;
  /** `WIDTHxHEIGHT` of each image, 0x0 if it did not load. */
  images?: string[];
  /** Computed properties, by selector. */
  styles?: Record<string, Record<string, string>>;
  /** Every line of the console, in order. */
  console?: string[];
}

/** One thing that a reader does, to the first element of a selector. */
export type Action =
  | { click: string }
  | { type: string; into: string }
  | { choose: string; from: string }
  | { press: string; on: string }
  | { wait_for: string };

export interface Program {
  /** Such as `react/counter`. */
  name: string;
  language: string;
  page: PageTable;
  /** The paths of its files. */
  paths: ReadonlySet<string>;
  request: object;
}

/** No word of these may be in a document. */
const OURS = ["/box/", "/artifacts", "/opt/sandpiper", "/tmp/"];

const root = new URL("../../../tests/programs/", import.meta.url);

/** All that have a `[page]` table. */
export function programs(): Program[] {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".toml"));
  return files.sort().flatMap((path) => {
    const text = readFileSync(new URL(path, root), "utf8");
    // Most need not be parsed.
    return /^\[?page\b/m.test(text) ? read(path.slice(0, -".toml".length), text) : [];
  });
}

function read(name: string, text: string): Program[] {
  // Its other keys are looked at where programs of all languages are run.
  const { entry, files, files_repeat: repeat = {}, stdin = "", page } = parse(text) as unknown as {
    entry?: string; files: Record<string, string>; files_repeat?: Record<string, number>; stdin?: string;
    page?: PageTable;
  };
  if (page === undefined) return [];
  const [language = ""] = name.split("/");
  const list = Object.entries(files).map(([path, content]) => ({ path, content: content.repeat(repeat[path] ?? 1) }));
  const request = { language, entryFile: entry ?? list[0]?.path, files: list, stdin };
  return [{ name, language, page, paths: new Set(Object.keys(files)), request }];
}

/** Has a service run the program, which says nothing else and ends well; gives the document. */
export async function run(service: string, { request }: Program): Promise<string> {
  const answer = await fetch(`${service}/api/compile`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request),
  });
  const text = await answer.text();
  const { stdout = "", stderr } = JSON.parse(text) as { stdout?: string; stderr?: string };
  const exit = answer.headers.get("Sandpiper-Exit");
  if (stdout === "" || stderr !== "" || exit !== "stage=run; code=0") throw new Error(`${exit}: ${text}`);
  const ours = OURS.find((word) => stdout.includes(word));
  if (ours !== undefined) throw new Error(`the document holds ${ours}`);
  return stdout;
}
