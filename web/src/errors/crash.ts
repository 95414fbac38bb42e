// The mark at the line where a program crashed.

import type { Mark } from "../editor/marks";
import type { RunResult } from "../run/client";
import { crashedHere } from "../run/words";

/** The mark of a crash whose line is known, if no other error has that line. */
export function crashMark({ crash, exit: { signal } }: RunResult, others: readonly Mark[]): Mark[] {
  if (crash === undefined || signal === undefined) return [];
  const { path, line } = crash;
  const isMarked = others.some((mark) => mark.path === path && mark.line === line && mark.severity === "error");
  return isMarked ? [] : [{ path, line, column: 0, severity: "error", message: crashedHere(signal) }];
}
