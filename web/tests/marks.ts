// The marks of a run, as words.

import { Sources, marksOf } from "../src/errors";
import type { RunResult } from "../src/run/client";
import { settingsOf } from "./definitions";

export const messagesOf = (language: string) => settingsOf(language).messages;

/** Each is `error main.py:3:7 NameError: …`. */
export function inWords(language: string, result: RunResult, sources: Sources): string[] {
  return marksOf(messagesOf(language), result, sources).map(
    ({ severity, path, line, column, message }) => `${severity} ${path}:${line}:${column} ${message}`,
  );
}

/** A run that failed, with this standard error. */
export function ran(stderr: string, code = 1, stage: "run" | "compile" = "run"): RunResult {
  return { kind: "ran", stdout: "", stderr, exit: { stage, code }, timings: {}, elapsedMs: 1 };
}

/** One file. */
export const none = (path: string, content = "") => new Sources(path, [{ path, content }]);
