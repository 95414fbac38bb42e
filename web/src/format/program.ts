// Formats a file by a program of its language, in an ordinary run.

import type { PageConfig } from "../config";
import { Sources, marksOf } from "../errors";
import { t } from "../messages";
import { randomId, run } from "../run/client";
import { summary } from "../run/words";
import { endingOf } from "../workspace";
import { Fault, type Formatted } from "./formatted";

export async function formatByRun(
  { language, editor }: Pick<PageConfig, "language" | "editor">,
  program: string,
  path: string,
  source: string,
  cursor: number,
): Promise<Formatted> {
  const file = { path, content: source };
  const entryFile = `.formatter.${endingOf(path)}`;
  const snapshot = { entryFile, files: [{ path: entryFile, content: program }, file], stdin: `${path}\n` };
  const answer = await run({ language, snapshot, id: randomId() }, new AbortController().signal);
  if (answer.kind !== "ran") throw new Fault(summary(answer), null);
  const { exit, stdout } = answer;
  if (exit.code === 0 && exit.stage === "run" && stdout !== "") return { text: stdout, cursor: moved(source, cursor, stdout) };
  const mark = marksOf(editor.messages, answer, new Sources(path, [file])).find(({ severity }) => severity === "error");
  throw mark === undefined ? new Fault(t("format.failed"), null) : new Fault(mark.message, mark);
}

/** The place before which the formatted text has as many characters that are not blank. */
export function moved(before: string, cursor: number, after: string): number {
  let left = before.slice(0, cursor).replace(/\s/g, "").length;
  let at = 0;
  while (left > 0 && at < after.length) {
    if (/\S/.test(after.charAt(at))) left -= 1;
    at += 1;
  }
  return at;
}
