// Messages of compilers and bundlers: each is a line with a place and the
// message, and the lines below it explain it.

import type { MessageSettings } from "../config";
import type { Mark } from "../editor/marks";
import { markAt, placeIn } from "./places";
import type { Sources } from "./sources";

const DIAGNOSTIC = /^(?<kind>fatal error|error|warning|Error|Warning)(?: [A-Z]+\d+)?: (?<message>.+)$/;

/** Of gcc, javac, the C# compiler, the bundler of pages, and languages without a format of their own. */
export function compilerMarks(messages: MessageSettings, text: string, sources: Sources): Mark[] {
  const format = messages.format ?? "";
  const lines = text.split("\n");
  const marks = lines.flatMap((line, index): Mark[] => {
    const place = placeIn(messages, line, sources);
    if (place === undefined) return [];
    if (place.message !== undefined) return [markAt(place, place.message)];
    const rest = line.slice(place.end).replace(/^:?\s*/, "");
    const groups = DIAGNOSTIC.exec(rest)?.groups;
    if (groups === undefined) return [];
    const below = lines.slice(index + 1, index + 12);
    return [
      {
        path: place.path,
        line: place.line,
        column: place.column || caretColumn(format, below),
        severity: /^w/i.test(groups["kind"] ?? "") ? "warning" : "error",
        message: explained(format, groups["message"] ?? "", below),
      },
    ];
  });
  return format === "gcc" ? [...marks, ...twoMains(text, sources)] : marks;
}

/** The service's own message names the files without a line. */
function twoMains(text: string, sources: Sources): Mark[] {
  const sentence = /^(.+) and (.+) both define main, but a program has only one\.$/m.exec(text);
  if (sentence === null) return [];
  return sentence.slice(1).flatMap((path): Mark[] => {
    if (!sources.paths.includes(path)) return [];
    const line = sources.linesOf(path).findIndex((source) => /\bmain\s*\(/.test(source)) + 1;
    return [{ path, line: Math.max(line, 1), column: 0, severity: "error", message: sentence[0] }];
  });
}

/** javac gives the column only as a caret under the line. */
function caretColumn(format: string, below: readonly string[]): number {
  return format === "java" && /^\s*\^$/.test(below[1] ?? "") ? (below[1] ?? "").length : 0;
}

function explained(format: string, message: string, below: readonly string[]): string {
  if (format === "java") {
    const symbol = below.slice(0, 4).find((line) => line.startsWith("  symbol:"));
    return symbol === undefined ? message : `${message}: ${symbol.replace(/^\s*symbol:\s*/, "")}`;
  }
  if (format === "gcc") return message.replace(/ \[-[\w=+-]+\]$/, "");
  if (format !== "bundler") return message;
  const next = below.findIndex((line) => !/^\s+(?:\d+ )?[|=]/.test(line));
  const hint = below.slice(0, next < 0 ? below.length : next).find((line) => /^\s+= (?!the files are)/.test(line));
  if (hint === undefined) return message;
  const words = hint.replace(/^\s+= /, "");
  return `${message.replace(/\.$/, "")}. ${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
