// Where a message names a line of a submitted file: by patterns, language by
// language.

import { mysqlPlaces } from "./mysql";
import type { Sources } from "./sources";

/** A part of a text that names a line. */
export interface Place {
  start: number;
  end: number;
  path: string;
  /** From 1. */
  line: number;
  /** From 1; 0 where only the line is known. */
  column: number;
}

/** The places that a text names, in order and apart. */
export function placesIn(language: string, text: string, sources: Sources): Place[] {
  if (language === "mysql") return mysqlPlaces(text, sources);
  const found = (PATTERNS[language] ?? []).flatMap((pattern) => matches(pattern, text, sources, language));
  found.sort((a, b) => a.start - b.start || b.end - a.end);
  let end = 0;
  return found.filter((place) => {
    if (place.start < end) return false;
    end = place.end;
    return true;
  });
}

/** The first place in a line of a message. */
export function placeIn(language: string, line: string, sources: Sources): Place | undefined {
  return placesIn(language, line, sources)[0];
}

// PATH is one of the submitted paths, NAME the last part of one. What `at` has
// is what leads there.
const GCC = ["(?<![\\w./-])(?<at>(?<path>PATH):(?<line>\\d+)(?::(?<column>\\d+))?)(?=[:,])"];
const BUNDLER = [
  "^(?<at>(?<path>PATH):(?<line>\\d+):(?<column>\\d+)): ",
  "^(?<at>(?<path>PATH)): (?:error|warning): ",
];
const PATTERNS: Readonly<Record<string, readonly string[]>> = {
  python: [
    '(?<at>File "(?<path>PATH)", line (?<line>\\d+))',
    "^(?<at>(?<path>PATH):(?<line>\\d+)): \\w*Warning: ",
  ],
  c: GCC,
  cpp: GCC,
  java: [
    "^(?<at>(?<path>PATH)(?::(?<line>\\d+))?): (?:error|warning): ",
    "^[ \\t]*at (?!java\\.|jdk\\.)(?<class>[^()\\n]+)\\((?<at>(?<name>NAME):(?<line>\\d+))\\)",
  ],
  php: [
    "(?<![\\w./-])(?<at>(?<path>PATH):(?<line>\\d+))(?!\\d)",
    "(?<![\\w./-])(?<at>(?<path>PATH) on line (?<line>\\d+))",
    "(?<![\\w./-])(?<at>(?<path>PATH)\\((?<line>\\d+)\\))",
  ],
  csharp: ["^(?<at>(?<path>PATH)\\((?<line>\\d+),(?<column>\\d+)\\)): ", " in (?<at>(?<path>PATH):line (?<line>\\d+))"],
  mongodb: [
    "^[ \\t]*at (?:.*\\()?(?<at>(?<path>PATH):(?<line>\\d+)(?::(?<column>\\d+))?)\\)?$",
    "^SyntaxError: (?<at>(?<path>PATH)): .*\\((?<line>\\d+):(?<column0>\\d+)\\)$",
  ],
  web: BUNDLER,
  react: BUNDLER,
  vue: BUNDLER,
};

function matches(pattern: string, text: string, sources: Sources, language: string): Place[] {
  const places: Place[] = [];
  for (const match of text.matchAll(compiled(pattern, sources))) {
    const groups = match.groups ?? {};
    const span = match.indices?.groups?.["at"];
    const path = groups["path"] ?? sources.named(groups["name"] ?? "", folderOf(groups["class"] ?? ""));
    if (span === undefined || path === null) continue;
    const line = Number(groups["line"] ?? 1);
    const told = groups["column0"] === undefined ? Number(groups["column"] ?? 0) : Number(groups["column0"]) + 1;
    const column = language === "c" || language === "cpp" ? undisplayed(sources.line(path, line), told) : told;
    places.push({ start: span[0], end: span[1], path, line, column });
  }
  return places;
}

const known = new WeakMap<Sources, Map<string, RegExp>>();

/** The pattern for these files, made once. */
function compiled(pattern: string, sources: Sources): RegExp {
  const own = known.get(sources) ?? new Map<string, RegExp>();
  known.set(sources, own);
  const made = own.get(pattern);
  if (made !== undefined) return made;
  const filled = pattern.replaceAll("PATH", sources.pathPattern).replaceAll("NAME", sources.namePattern);
  const expression = new RegExp(filled, "gmd");
  own.set(pattern, expression);
  return expression;
}

/** `org.example.App.main` is in the folder `org/example`; a module or loader before it counts for nothing. */
function folderOf(method: string): string {
  const parts = method.slice(method.lastIndexOf("/") + 1).split(".");
  return parts.slice(0, -2).join("/");
}

/** gcc counts columns as a terminal shows them: a tab goes to the next stop of eight, a wide character is two. */
function undisplayed(line: string | undefined, column: number): number {
  // In code that nobody wrote by hand the column is as good as it comes.
  if (line === undefined || column === 0 || line.length > MOST_READ) return column;
  if (/^[\u0020-\u02ff]*$/.test(line)) return column;
  let shown = 1;
  let index = 0;
  for (const character of line) {
    if (shown >= column) break;
    if (character === "\t") shown += 8 - ((shown - 1) % 8);
    else shown += WIDE.test(character) ? 2 : 1;
    index += character.length;
  }
  return index + 1;
}

const MOST_READ = 2000;
const WIDE = new RegExp(
  "[\\u1100-\\u115f\\u2e80-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f\\uff00-\\uff60\\uffe0-\\uffe6" +
    "\\u{1f300}-\\u{1faff}\\u{20000}-\\u{3fffd}]",
  "u",
);
