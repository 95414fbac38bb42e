// Makes marks beside the code of the messages that a run wrote.

import type { MessageSettings } from "../config";
import type { Mark } from "../editor/marks";
import type { RunResult } from "../run/client";
import { marksIn } from "./marks";
import { mysqlMarks } from "./mysql";
import { LINE_LENGTH_READ } from "./places";
import type { Sources } from "./sources";

export { crashMark } from "./crash";
export { Explainer } from "./explainer";
export { draws, needsInput, type InputNeed } from "./input";
export { placesIn, type Place } from "./places";
export { Sources } from "./sources";

/** More would hide the code, and the first errors are the ones to fix first. */
const MAX_MARKS = 100;
/** In a text that is longer than twice this, errors are at its beginning or its end. */
const LENGTH_READ = 100_000;

/** The errors and warnings of a run at the lines of the files that were submitted. */
export function marksOf(messages: MessageSettings, result: RunResult, sources: Sources): Mark[] {
  const isFailure = result.exit.stage === "compile" || result.exit.code !== 0;
  const seen = new Set<string>();
  const marks = read(messages, bounded(result.stderr), sources)
    // A program that succeeded has caught and printed its error.
    .map((mark): Mark => (isFailure ? mark : { ...mark, severity: "warning" }))
    .concat(read(messages, bounded(result.warnings ?? ""), sources))
    .filter((mark) => {
      const key = JSON.stringify([mark.path, mark.line, mark.message]);
      return !seen.has(key) && seen.add(key);
    });
  return marks.slice(0, MAX_MARKS);
}

function read(messages: MessageSettings, text: string, sources: Sources): Mark[] {
  return messages.format === "mysql" ? mysqlMarks(text, sources) : marksIn(messages, text, sources);
}

function bounded(text: string): string {
  const read = text.length <= 2 * LENGTH_READ ? text : `${text.slice(0, LENGTH_READ)}\n${text.slice(-LENGTH_READ)}`;
  return read
    .split("\n")
    .map((line) => line.slice(0, LINE_LENGTH_READ))
    .join("\n");
}
