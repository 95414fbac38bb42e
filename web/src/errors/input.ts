// Whether a program wanted input that it was not given.

import type { InputSettings, LanguageSettings } from "../config";
import type { RunResult } from "../run/client";
import type { SourceFile } from "../workspace";
import { escaped, expression } from "./pattern";

export interface InputQuestion {
  /** Missing if nothing is known of the language's input. */
  input: InputSettings | undefined;
  result: RunResult;
  stdin: string;
  files: readonly Readonly<SourceFile>[];
}

export type InputNeed = "missing" | "short" | "ended";

/**
 * `missing`: the program read input and there was none. `short`: it read more than there was. Its error shows that, or,
 * in a language without such an error, its source. `ended`: it wrote without end, perhaps because reading failed again
 * and again.
 */
export function needsInput({ input, result, stdin, files }: InputQuestion): InputNeed | null {
  if (input === undefined || result.exit.stage === "compile") return null;
  const need = stdin === "" ? "missing" : "short";
  const sources = files.map((file) => withoutComments(input.comment, file.content));
  const reads = hasAny(input.reads, sources);
  if (hasAny(input.error, [result.stderr])) return need;
  if (reads && hasAny(input.likelyError, [result.stderr])) return need;
  if (reads && result.exit.limit === "output") return "ended";
  // Without an error only the results are wrong, unless the program crashes of them.
  const mayBeSilent = result.exit.code === 0 || input.crashes === true;
  const readsSilently = input.readsSilently === undefined ? reads : hasAny(input.readsSilently, sources);
  return need === "missing" && mayBeSilent && readsSilently ? need : null;
}

/** Whether a program makes pictures, by its source. */
export function draws({ draws, input }: LanguageSettings, files: readonly Readonly<SourceFile>[]): boolean {
  return hasAny(draws, files.map((file) => withoutComments(input?.comment, file.content)));
}

function hasAny(pattern: string | undefined, texts: readonly string[]): boolean {
  if (pattern === undefined) return false;
  const compiled = expression(pattern, "m");
  return texts.some((text) => compiled.test(text));
}

function withoutComments(comment: string | undefined, source: string): string {
  // Strings first, so that "http://…" is no comment; they are kept. A string or comment that is not closed goes on to
  // the end of its line, or of all: a pattern that gave up there would look that far again soon after. 1'000 is no
  // string.
  const pattern =
    comment === undefined
      ? /("(?:[^"\\\n]|\\.)*"?|(?<!\d)'(?:[^'\\\n]|\\.)*'?)|\/\/.*|\/\*(?:[^]*?\*\/|[^]*)/g
      : new RegExp(`("(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'?)|${escaped(comment)}.*`, "g");
  return source.replace(pattern, (_, text: string | undefined) => text ?? " ");
}
