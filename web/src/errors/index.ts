// From what a run wrote to marks beside the code.

import type { Mark } from "../editor/marks";
import type { RunResult } from "../run/client";
import { compilerMarks } from "./compilers";
import { mysqlMarks } from "./mysql";
import { pythonMarks } from "./python";
import type { Sources } from "./sources";
import { csharpMarks, javaMarks, mongoMarks, phpMarks } from "./traces";

export { needsInput, type InputNeed } from "./input";
export { placesIn, type Place } from "./places";
export { Sources } from "./sources";

/** More would hide the code, and the first ones are what to mend first. */
const MOST = 100;
/** Errors stand at the beginning or the end of a text that is longer than twice this. */
const LENGTH_READ = 100_000;
/** Of a longer line the beginning: some patterns take the square of its length. */
const LINE_LENGTH_READ = 2000;

/** The errors and warnings of a run at the lines of the files that were submitted. */
export function marksOf(language: string, result: RunResult, sources: Sources): Mark[] {
  const isFailure = result.exit.stage === "compile" || result.exit.code !== 0;
  const seen = new Set<string>();
  const marks = read(language, bounded(result.stderr), sources).filter((mark) => {
    const key = JSON.stringify([mark.path, mark.line, mark.message]);
    return !seen.has(key) && seen.add(key);
  });
  // A program that caught and printed its error went on to a good end.
  return marks.slice(0, MOST).map((mark) => (isFailure ? mark : { ...mark, severity: "warning" }));
}

function read(language: string, text: string, sources: Sources): Mark[] {
  switch (language) {
    case "python":
      return pythonMarks(text, sources);
    case "java":
      return [...compilerMarks(language, text, sources), ...javaMarks(text, sources)];
    case "csharp":
      return [...compilerMarks(language, text, sources), ...csharpMarks(text, sources)];
    case "php":
      return phpMarks(text, sources);
    case "mysql":
      return mysqlMarks(text, sources);
    case "mongodb":
      return mongoMarks(text, sources);
    default:
      return compilerMarks(language, text, sources);
  }
}

function bounded(text: string): string {
  const read = text.length <= 2 * LENGTH_READ ? text : `${text.slice(0, LENGTH_READ)}\n${text.slice(-LENGTH_READ)}`;
  return read
    .split("\n")
    .map((line) => line.slice(0, LINE_LENGTH_READ))
    .join("\n");
}
