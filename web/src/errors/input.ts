// Whether a program wanted input that it was not given.

import type { RunResult } from "../run/client";
import type { SourceFile } from "../workspace";

export interface InputQuestion {
  language: string;
  result: RunResult;
  stdin: string;
  files: readonly Readonly<SourceFile>[];
}

export type InputNeed = "missing" | "short" | "ended";

/**
 * `missing`: it read input and there was none; `short`: it read more than there
 * was. Told by its error, and where a language has none, by what the source reads.
 * `ended`: it wrote without end, maybe as reading failed again and again.
 */
export function needsInput({ language, result, stdin, files }: InputQuestion): InputNeed | null {
  if (result.exit.stage === "compile") return null;
  const need = stdin === "" ? "missing" : "short";
  const { error, read } = HABITS[language] ?? {};
  const reads = read !== undefined && files.some((file) => read.test(withoutComments(language, file.content)));
  if (error?.sure.test(result.stderr) === true) return need;
  if (reads && error?.likely?.test(result.stderr) === true) return need;
  if (reads && result.exit.limit === "output") return "ended";
  // Without an error the results are wrong only. In C even a crash can come of it.
  const isQuiet = result.exit.code === 0 || language === "c" || language === "cpp";
  const isRead = language === "python" ? files.some((file) => /\bsys\.stdin\b/.test(file.content)) : reads;
  return need === "missing" && isQuiet && isRead ? need : null;
}

interface Habit {
  /** What reading past the end of the input leaves in stderr. */
  error?: { sure: RegExp; likely?: RegExp };
  /** What a program that uses its input has in its source. */
  read: RegExp;
}

// A read whose value is thrown away only waits for a key.
const C_READ = new RegExp(
  "\\b(?:scanf|fgets|getline|gets|fscanf\\s*\\(\\s*stdin|fread|read\\s*\\(\\s*(?:0|STDIN_FILENO)\\b)" +
    // Looked behind from the name: from the sign on, brackets in a row would take the square of their number.
    "|(?:getchar|getc|fgetc)(?<=[=(,!][\\s(]*(?:getchar|getc|fgetc))\\s*\\(",
);
const HABITS: Readonly<Record<string, Habit>> = {
  python: {
    error: { sure: /^EOFError: EOF when reading a line$/m, likely: /^(?:ValueError|IndexError|StopIteration)\b/m },
    read: /\binput\s*\(|\bsys\.stdin\b/,
  },
  java: {
    error: {
      sure: /NoSuchElementException(?:: No line found)?\s+at (?:java\.base\/)?java\.util\.Scanner\./,
      likely: /NullPointerException|NumberFormatException: (?:Cannot parse null string|For input string: "")/,
    },
    read: /\bSystem\.in\b|\bIO\.readln\b|\bSystem\.console\b/,
  },
  csharp: {
    error: { sure: /(?!)/, likely: /NullReferenceException|ArgumentNullException|FormatException/ },
    read: /(?:[=(,!?:]\s*(?:await\s+)?|\breturn\s+)(?:System\.)?Console\.(?:Read(?:Line)?\s*\(|In\.|OpenStandardInput)/,
  },
  c: { read: C_READ },
  cpp: { read: new RegExp(`\\b(?:std::)?cin\\s*(?:>>|\\.(?:get|read|getline)\\b)|\\bgetline\\s*\\(|${C_READ.source}`) },
  php: { read: /\bSTDIN\b|\breadline\s*\(|php:\/\/stdin/ },
};

function withoutComments(language: string, source: string): string {
  // Strings first, so that "http://…" is no comment; they are kept. What is not closed goes on to the end of its
  // line, or of all: a pattern that gave it up would look that far again soon after. 1'000 is no string.
  const pattern =
    language === "python"
      ? /("(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)|#.*/g
      : /("(?:[^"\\\n]|\\.)*"?|(?<!\d)'(?:[^'\\\n]|\\.)*'?)|\/\/.*|\/\*(?:[^]*?\*\/|[^]*)/g;
  return source.replace(pattern, (_, text: string | undefined) => text ?? " ");
}
