// Compares the output of a run with the expected one: without colours, and
// without the line break at the end.

import { plainText } from "../output/ansi";
import type { Answer } from "./client";

/** Whether the output is the expected one, and the first line that differs, from 1. */
export type Verdict = { matches: true } | { matches: false; line: number };

/** Compares the output of a run; `null` if there is nothing to compare. */
export function verdictOf(answer: Answer, expected: string | null): Verdict | null {
  if (expected === null || answer.kind !== "ran" || answer.exit.stage !== "run" || answer.exit.isStopped === true) return null;
  const [theirs, own] = [linesOf(expected), linesOf(plainText(answer.stdout))];
  const length = Math.max(theirs.length, own.length);
  for (let line = 0; line < length; line++) {
    if (theirs[line] !== own[line]) return { matches: false, line: line + 1 };
  }
  return { matches: true };
}

/** The lines of a text without the line break at its end. */
export function linesOf(text: string): string[] {
  const rest = text.replace(/(?:\r\n?|\n)$/, "");
  return rest === "" ? [] : rest.split(/\r\n?|\n/);
}
