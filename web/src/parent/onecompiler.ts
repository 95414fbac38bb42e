// The messages of OneCompiler's embed, which many pages already send.

import { languageOf } from "../embed-js/names";
import type { PageConfig } from "../config";
import type { Answer } from "../run/client";
import { bad, good, isRecord, readSnapshot, type Checked } from "../store/snapshot";
import type { Snapshot } from "../workspace";

/** The request of a page that was made for OneCompiler; code may come without input. */
export type HostRequest = { kind: "populate"; snapshot: Checked<Snapshot>; hasInput: boolean } | { kind: "run" };

/** Whether the page's URL asks for reports of changes, as with OneCompiler. */
export function tellsChanges(search: string): boolean {
  const query = new URLSearchParams(search);
  return ["listenToEvents", "codeChangeEvent"].some((name) => query.get(name) === "true");
}

/** The page's language, and those of the server. */
type Languages = Pick<PageConfig, "language" | "names">;

/** The request in a message, by default with the input and the entry of `start`; `null` if it is not of this kind. */
export function readHostRequest(data: unknown, { language, names }: Languages, start: Snapshot): HostRequest | null {
  if (!isRecord(data)) return null;
  if (data["eventType"] === "triggerRun") return { kind: "run" };
  if (data["eventType"] !== "populateCode") return null;
  const hasInput = (data["stdin"] ?? null) !== null;
  return { kind: "populate", snapshot: readFiles(data, { language, names }, start), hasInput };
}

/** The message about a change, or with `answer` about the end of a run. */
export function report(id: string, language: string, snapshot: Snapshot, answer: Answer | null): object {
  return {
    _id: id,
    language,
    files: snapshot.files.map(({ path, content }) => ({ name: path, content })),
    stdin: snapshot.stdin,
    result: answer === null ? null : resultOf(answer),
    action: answer === null ? "change" : "runComplete",
  };
}

function readFiles(data: Readonly<Record<string, unknown>>, { language, names }: Languages, start: Snapshot): Checked<Snapshot> {
  const given = data["language"];
  const asked = typeof given === "string" ? given : language;
  const named = languageOf(asked, names) ?? language;
  // The page has one language: code in another language of the server is refused.
  if (named !== language) return bad(`This page runs ${language}, not ${asked}.`);
  const list = data["files"];
  if (!Array.isArray(list)) return bad("files must be a list.");
  const files = (list as unknown[]).map((file) =>
    isRecord(file) ? { path: file["name"], content: file["content"] } : file,
  );
  const { value, fault } = readSnapshot({ files, stdin: data["stdin"] ?? start.stdin }, start.entryFile);
  return value === null ? bad(fault) : good(value);
}

function resultOf(answer: Answer): object {
  if (answer.kind !== "ran") return { success: false, output: "", stdout: "", stderr: "", exception: answer.kind };
  const { stdout, stderr, exit, elapsedMs } = answer;
  const success = exit.stage === "run" && (exit.code ?? 0) === 0 && !exit.signal && !exit.limit && !exit.isStopped;
  return { success, output: stdout, stdout, stderr, exception: null, executionTime: Math.round(elapsedMs) };
}
