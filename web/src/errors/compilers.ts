// What compilers and bundlers say: a line with the place and the message each,
// and under it what it is about.

import type { Mark } from "../editor/marks";
import { placeIn } from "./places";
import type { Sources } from "./sources";

const DIAGNOSTIC = /^(?<kind>fatal error|error|warning|Error|Warning)(?: CS\d+)?: (?<message>.+)$/;

/** Of gcc, javac, the C# compiler and the bundler of pages. */
export function compilerMarks(language: string, text: string, sources: Sources): Mark[] {
  const lines = text.split("\n");
  const marks = lines.flatMap((line, index): Mark[] => {
    const place = placeIn(language, line, sources);
    if (place === undefined) return [];
    const rest = line.slice(place.end).replace(/^:?\s*/, "");
    const groups = DIAGNOSTIC.exec(rest)?.groups;
    if (groups === undefined) return linkerMark(line, rest, place);
    const below = lines.slice(index + 1, index + 12);
    return [
      {
        path: place.path,
        line: place.line,
        column: place.column || caretColumn(language, below),
        severity: /^w/i.test(groups["kind"] ?? "") ? "warning" : "error",
        message: explained(language, groups["message"] ?? "", below),
      },
    ];
  });
  return [...marks, ...twoMains(text, sources)];
}

/** The linker and assert(), which do not say "error". */
function linkerMark(line: string, rest: string, { path, line: number }: { path: string; line: number }): Mark[] {
  const linker = /(undefined reference to .+|multiple definition of `[^']+')/.exec(rest)?.[1];
  const assertion = /Assertion [`'].*' failed\./.exec(rest)?.[0];
  const message = linker ?? (line.startsWith("/") ? undefined : assertion);
  return message === undefined ? [] : [{ path, line: number, column: 0, severity: "error", message }];
}

/** The service's own sentence names the files without a line. */
function twoMains(text: string, sources: Sources): Mark[] {
  const sentence = /^(.+) and (.+) both define main, but a program has only one\.$/m.exec(text);
  if (sentence === null) return [];
  return sentence.slice(1).flatMap((path): Mark[] => {
    if (!sources.paths.includes(path)) return [];
    const line = sources.linesOf(path).findIndex((source) => /\bmain\s*\(/.test(source)) + 1;
    return [{ path, line: Math.max(line, 1), column: 0, severity: "error", message: sentence[0] }];
  });
}

/** javac tells the column only by a caret under the line. */
function caretColumn(language: string, below: readonly string[]): number {
  return language === "java" && /^\s*\^$/.test(below[1] ?? "") ? (below[1] ?? "").length : 0;
}

function explained(language: string, message: string, below: readonly string[]): string {
  if (language === "java") {
    const symbol = below.slice(0, 4).find((line) => line.startsWith("  symbol:"));
    return symbol === undefined ? message : `${message}: ${symbol.replace(/^\s*symbol:\s*/, "")}`;
  }
  if (language === "c" || language === "cpp") return message.replace(/ \[-[\w=+-]+\]$/, "");
  if (language === "csharp") return message;
  const next = below.findIndex((line) => !/^\s+(?:\d+ )?[|=]/.test(line));
  const hint = below.slice(0, next < 0 ? below.length : next).find((line) => /^\s+= (?!the files are)/.test(line));
  if (hint === undefined) return message;
  const words = hint.replace(/^\s+= /, "");
  return `${message.replace(/\.$/, "")}. ${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
