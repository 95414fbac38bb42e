// The places in messages that name a line of a submitted file, and messages
// without a place, found by the patterns of the language's definition.

import type { MessageSettings } from "../config";
import type { Mark } from "../editor/marks";
import { mysqlPlaces } from "./mysql";
import { expression } from "./pattern";
import { MAX_LINE, type Sources } from "./sources";

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
  message?: string | undefined;
  isWarning?: boolean;
}

/** A part of a text that is a message, or ends one. */
interface Message {
  start: number;
  end: number;
  message: string | undefined;
}

type Groups = Readonly<Record<string, string | undefined>>;

/** Only the beginning of a longer line is read: some patterns take quadratic time. */
export const LINE_LENGTH_READ = 2000;

/** The places that a text names, in order; they do not overlap. */
export function placesIn(messages: MessageSettings, text: string, sources: Sources): Place[] {
  if (messages.format === "mysql") return mysqlPlaces(text, sources);
  // Line ends in place of what is not read, so that places keep their numbers.
  const lines = text.split("\n").map((line) => line.slice(0, LINE_LENGTH_READ).padEnd(line.length, "\n"));
  const read = lines.join("\n");
  return inOrder(messages.places.flatMap((pattern) => placesOf(pattern, read, sources)));
}

/** The parts of a text that the patterns find, in order; they do not overlap. */
export function messagesIn(patterns: readonly string[] = [], text: string, sources: Sources): Message[] {
  const found = patterns.flatMap((pattern) =>
    [...text.matchAll(compiled(pattern, sources))].map((match): Message => {
      const end = match.index + match[0].length;
      return { start: match.index, end, message: messageOf(match.groups ?? {}) };
    }),
  );
  return inOrder(found);
}

/** A mark at a place. */
export function markAt({ path, line, column, isWarning }: Place, message: string): Mark {
  return { path, line, column, severity: isWarning === true ? "warning" : "error", message: message.trimEnd() };
}

function placesOf(pattern: string, text: string, sources: Sources): Place[] {
  const places: Place[] = [];
  for (const match of text.matchAll(compiled(pattern, sources))) {
    const groups = match.groups ?? {};
    const span = match.indices?.groups?.["at"];
    const path = groups["path"] ?? sources.named(groups["name"] ?? "", folderOf(groups["class"] ?? ""));
    if (span === undefined || path === null) continue;
    const named = Number(groups["line"] ?? 1);
    const line = (groups["quoted"] !== undefined && sources.quoted(path, named, groups["quoted"])) || named;
    const column = columnOf(groups, sources.line(path, line));
    const isWarning = groups["kind"] !== undefined && !/error/i.test(groups["kind"]);
    places.push({ start: span[0], end: span[1], path, line, column, message: messageOf(groups), isWarning });
  }
  return places;
}

/** Sorts the parts. Of those that overlap, the first one stays, and of those with one beginning the longest. */
function inOrder<T extends { start: number; end: number }>(parts: T[]): T[] {
  parts.sort((a, b) => a.start - b.start || b.end - a.end);
  let end = 0;
  return parts.filter((part) => {
    if (part.start < end) return false;
    end = part.end;
    return true;
  });
}

function messageOf({ message, detail, hint }: Groups): string | undefined {
  if (message === undefined) return undefined;
  if (detail !== undefined) return [message, ...linesIn(detail)].join(": ");
  if (hint === undefined) return message;
  return `${message.replace(/\.$/, "")}. ${hint.charAt(0).toUpperCase()}${hint.slice(1)}`;
}

/** The lines that are not blank, without the blanks around them. */
function linesIn(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function columnOf({ column, column0, cell, caret, shown }: Groups, source: string | undefined): number {
  if (column0 !== undefined) return Number(column0) + 1;
  if (cell !== undefined) return undisplayed(source, Number(cell));
  if (caret === undefined) return Number(column ?? 0);
  if (shown === undefined) return caret.length;
  const indent = source !== undefined && source.length <= MAX_LINE ? source.indexOf(shown.trimEnd()) : -1;
  return indent < 0 ? 0 : indent + caret.length;
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

/** The column of a cell of the line as a terminal shows it: a tab goes to the next multiple of eight, a wide character is two. */
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

const WIDE = new RegExp(
  "[\\u1100-\\u115f\\u2e80-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f\\uff00-\\uff60\\uffe0-\\uffe6" +
    "\\u{1f300}-\\u{1faff}\\u{20000}-\\u{3fffd}]",
  "u",
);
