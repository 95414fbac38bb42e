// The places in messages that name a line of a submitted file, found by the
// patterns of the language's definition.

import type { MessageSettings } from "../config";
import type { Mark } from "../editor/marks";
import { mysqlPlaces } from "./mysql";
import { expression } from "./pattern";
import type { Sources } from "./sources";

/** A part of a text that names a line. */
export interface Place {
  start: number;
  end: number;
  path: string;
  /** From 1. */
  line: number;
  /** From 1; 0 if only the line is known. */
  column: number;
  /** The message, if the pattern has a group for it. */
  message?: string;
}

/** The places that a text names, in order; they do not overlap. */
export function placesIn(messages: MessageSettings, text: string, sources: Sources): Place[] {
  if (messages.format === "mysql") return mysqlPlaces(text, sources);
  const found = messages.places.flatMap((pattern) => matches(pattern, text, sources, messages.format));
  found.sort((a, b) => a.start - b.start || b.end - a.end);
  let end = 0;
  return found.filter((place) => {
    if (place.start < end) return false;
    end = place.end;
    return true;
  });
}

/** The first place in a line of a message. */
export function placeIn(messages: MessageSettings, line: string, sources: Sources): Place | undefined {
  return placesIn(messages, line, sources)[0];
}

/** An error at a place. */
export function markAt({ path, line, column }: Place, message: string): Mark {
  return { path, line, column, severity: "error", message: message.trimEnd() };
}

function matches(pattern: string, text: string, sources: Sources, format: string | undefined): Place[] {
  const places: Place[] = [];
  for (const match of text.matchAll(compiled(pattern, sources))) {
    const groups = match.groups ?? {};
    const span = match.indices?.groups?.["at"];
    const path = groups["path"] ?? sources.named(groups["name"] ?? "", folderOf(groups["class"] ?? ""));
    if (span === undefined || path === null) continue;
    const line = Number(groups["line"] ?? 1);
    const given = groups["column0"] === undefined ? Number(groups["column"] ?? 0) : Number(groups["column0"]) + 1;
    const column = format === "gcc" ? undisplayed(sources.line(path, line), given) : given;
    const message = groups["message"];
    places.push({ start: span[0], end: span[1], path, line, column, ...(message === undefined ? {} : { message }) });
  }
  return places;
}

const known = new WeakMap<Sources, Map<string, RegExp>>();

/** The pattern for these files, made once. */
function compiled(pattern: string, sources: Sources): RegExp {
  const own = known.get(sources) ?? new Map<string, RegExp>();
  known.set(sources, own);
  const found = own.get(pattern);
  if (found !== undefined) return found;
  const filled = pattern.replaceAll("PATH", sources.pathPattern).replaceAll("NAME", sources.namePattern);
  const made = expression(filled, "gmd");
  own.set(pattern, made);
  return made;
}

/** `org.example.App.main` is in the folder `org/example`; a module or loader before it is ignored. */
function folderOf(method: string): string {
  const parts = method.slice(method.lastIndexOf("/") + 1).split(".");
  return parts.slice(0, -2).join("/");
}

/** gcc counts columns as a terminal shows them: a tab goes to the next multiple of eight, a wide character is two. */
function undisplayed(line: string | undefined, column: number): number {
  // Nobody wrote such a line by hand: its column need not be exact.
  if (line === undefined || column === 0 || line.length > MAX_LINE) return column;
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

const MAX_LINE = 2000;
const WIDE = new RegExp(
  "[\\u1100-\\u115f\\u2e80-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f\\uff00-\\uff60\\uffe0-\\uffe6" +
    "\\u{1f300}-\\u{1faff}\\u{20000}-\\u{3fffd}]",
  "u",
);
