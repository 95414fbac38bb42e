// Formats a file by a program of its language, in an ordinary run.

import type { PageConfig } from "../config";
import { Sources, marksOf } from "../errors";
import { t } from "../messages";
import { randomId, run } from "../run/client";
import { summary } from "../run/words";
import { endingOf } from "../workspace";
import { Fault } from "./fault";

export async function formatByRun(
  { language, editor }: Pick<PageConfig, "language" | "editor">,
  program: string,
  path: string,
  source: string,
): Promise<string> {
  const file = { path, content: source };
  const entryFile = `.formatter.${endingOf(path)}`;
  const snapshot = { entryFile, files: [{ path: entryFile, content: program }, file], stdin: `${path}\n` };
  const answer = await run({ language, snapshot, id: randomId() }, new AbortController().signal);
  if (answer.kind !== "ran") throw new Fault(summary(answer), null);
  const { exit, stdout } = answer;
  if (exit.code === 0 && exit.stage === "run" && stdout !== "") return stdout;
  const mark = marksOf(editor.messages, answer, new Sources(path, [file])).find(({ severity }) => severity === "error");
  throw mark === undefined ? new Fault(t("format.failed"), null) : new Fault(mark.message, mark);
}
