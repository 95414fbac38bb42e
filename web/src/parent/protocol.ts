// The messages between the page and the page that embeds it, version 1: their
// format, and the effect of each command. Every incoming message is checked.

import type { ThemeChoice } from "../config";
import type { Mark } from "../editor/marks";
import type { PageMessage } from "../preview/preview";
import type { Answer } from "../run/client";
import type { Artifact } from "../run/left";
import type { Verdict } from "../run/expected";
import { isRecord, readSnapshot } from "../store/snapshot";
import { faultOfPath, visibleOf, type Snapshot } from "../workspace";

export const VERSION = 1;
const APP = "sandpiper";
const MAX_MARKS = 1000;
/** Further messages of a preview are only counted. */
const MAX_NEWS_PER_SECOND = 100;
const MAX_NEWS_CHARACTERS = 2000;

/** The effects that commands can have. */
export interface Controls {
  snapshot(): Snapshot;
  /** The files to which Reset returns. */
  starter(): Snapshot;
  /** Reset returns to the new files. Without input of their own they get that of the reader. */
  replace(snapshot: Snapshot, hasInput: boolean): void;
  setStdin(text: string): void;
  /** `null`: no output is expected. */
  setExpected(text: string | null): void;
  /** Starts a run, and returns its number. */
  run(): number;
  stop(): void;
  setTheme(theme: ThemeChoice): void;
  setReadOnly(isReadOnly: boolean): void;
  reset(): void;
  focus(): void;
  /** Highlights lines; an empty list removes the highlight. */
  markLines(path: string, lines: readonly number[]): void;
  setDiagnostics(marks: readonly Mark[]): void;
  share(): Promise<string>;
  /** Sends text to a live run, or ends its input. Returns the reason if that is not done. */
  input(text: string): Promise<string | null>;
  endInput(): Promise<string | null>;
  /** A file that the last run left. */
  artifact(path: string): Artifact | null;
}

/** A request of the embedding page. */
export interface Command {
  /** Returned unchanged with the answer. */
  id: string | number | null;
  type: string;
  payload: unknown;
}

export type EventName =
  | "ready" | "change" | "run:start" | "run:output" | "run:end" | "preview:console" | "preview:error" | "resize" | "theme" | "error";

/** The command in a message; `null` for messages of other protocols. */
export function readCommand(data: unknown): Command | null {
  if (!isRecord(data) || data["app"] !== APP || typeof data["type"] !== "string") return null;
  const { id, type, payload } = data;
  const isId = typeof id === "string" || typeof id === "number";
  // An unknown version is answered with an error.
  return { id: isId ? id : null, type: data["v"] === VERSION ? type : "", payload };
}

export function eventMessage(type: EventName, payload: unknown): object {
  return { app: APP, v: VERSION, type, payload };
}

/** Executes a command, and returns the answer to it. */
export async function answerTo(command: Command, controls: Controls): Promise<object> {
  const { id, type, payload } = command;
  const head = { app: APP, v: VERSION, id };
  try {
    const act = commands.get(type);
    if (act === undefined) {
      const known = [...commands.keys()].join(", ");
      throw new Refused(type === "" ? `This page supports version ${VERSION}.` : `The commands are ${known}.`);
    }
    const result = await act(controls, isRecord(payload) ? payload : {});
    return { ...head, ok: true, payload: result ?? null };
  } catch (error) {
    const message = error instanceof Refused ? error.message : "The command failed.";
    return { ...head, ok: false, error: message };
  }
}

/** The payload of `run:end`. */
export function runEnd(run: number, answer: Answer, verdict: Verdict | null = null): object {
  if (answer.kind !== "ran") {
    const message = "message" in answer ? answer.message : "";
    return { run, ran: false, reason: answer.kind, message };
  }
  const { stdout, stderr, exit, elapsedMs, timings, left } = answer;
  return {
    run,
    ran: true,
    stage: exit.stage,
    exit: exit.code ?? null,
    signal: exit.signal ?? null,
    limit: exit.limit ?? null,
    ms: Math.round(elapsedMs),
    timings: { ...timings },
    stdout,
    stderr,
    truncated: exit.limit === "output",
    ...(verdict === null ? {} : { matches: verdict.matches }),
    ...(exit.isStopped === true ? { stopped: true } : {}),
    ...(left === undefined ? {} : { artifacts: left.artifacts.map(({ path, type, size }) => ({ path, type, size })) }),
  };
}

/** Reports the messages of a preview, at a rate that the embedding page can process. */
export class PreviewNews {
  private readonly emit: (type: EventName, payload: object) => void;
  private run = 0;
  private reported = 0;
  private sinceMs = 0;
  private leftOut = 0;

  constructor(emit: (type: EventName, payload: object) => void) {
    this.emit = emit;
  }

  report(run: number, { level, text, isUncaught, place }: PageMessage, nowMs: number): void {
    if (nowMs - this.sinceMs >= 1000 || run !== this.run) {
      this.reported = 0;
      this.sinceMs = nowMs;
    }
    if (run !== this.run) this.leftOut = 0;
    this.run = run;
    if (this.reported >= MAX_NEWS_PER_SECOND) {
      this.leftOut += 1;
      return;
    }
    this.reported += 1;
    const where = { file: place?.file ?? null, line: place?.line ?? null, column: place?.column ?? null };
    const said = { run, text: text.slice(0, MAX_NEWS_CHARACTERS), ...where, leftOut: this.leftOut };
    this.leftOut = 0;
    if (isUncaught) this.emit("preview:error", said);
    else this.emit("preview:console", { level, ...said });
  }
}

/** An error whose message is meant for the embedding page. */
class Refused extends Error {}

type Payload = Readonly<Record<string, unknown>>;
type Act = (controls: Controls, payload: Payload) => unknown;

const commands: ReadonlyMap<string, Act> = new Map<string, Act>([
  ["setFiles", setFiles],
  ["getFiles", (controls) => controls.snapshot()],
  ["run", (controls) => ({ run: controls.run() })],
  ["stop", (controls) => controls.stop()],
  ["setStdin", (controls, { stdin }) => controls.setStdin(text("stdin", stdin))],
  ["setExpected", (controls, { expected }) => controls.setExpected(expected === null ? null : text("expected", expected))],
  ["setTheme", (controls, { theme }) => controls.setTheme(themeOf(theme))],
  ["setReadOnly", setReadOnly],
  ["reset", (controls) => controls.reset()],
  ["focus", (controls) => controls.focus()],
  ["markLines", markLines],
  ["setDiagnostics", setDiagnostics],
  ["input", (controls, payload) => sent(controls.input(text("text", payload["text"])))],
  ["endInput", (controls) => sent(controls.endInput())],
  ["getArtifact", getArtifact],
  ["share", async (controls) => ({ url: await controls.share() })],
]);

function setFiles(controls: Controls, payload: Payload): void {
  // What the reader has chosen and typed is no part of a start: the edits are found by it.
  const { value, fault } = readSnapshot({ stdin: "", ...payload }, controls.starter().entryFile);
  if (value === null) throw new Refused(fault);
  controls.replace(value, "stdin" in payload);
}

async function sent(result: Promise<string | null>): Promise<void> {
  const fault = await result;
  if (fault !== null) throw new Refused(fault);
}

function getArtifact(controls: Controls, { path }: Payload): object {
  const found = controls.artifact(text("path", path));
  if (found === null) throw new Refused("The last run left no file with this path.");
  return { content: found.content, encoding: found.encoding };
}

function setReadOnly(controls: Controls, { readonly }: Payload): void {
  if (typeof readonly !== "boolean") throw new Refused("readonly must be true or false.");
  controls.setReadOnly(readonly);
}

function markLines(controls: Controls, { path, lines }: Payload): void {
  if (!Array.isArray(lines) || lines.length > MAX_MARKS || !lines.every(isLine)) {
    throw new Refused("lines must be a list of line numbers.");
  }
  controls.markLines(submitted(controls, path), lines);
}

function setDiagnostics(controls: Controls, { diagnostics }: Payload): void {
  if (!Array.isArray(diagnostics) || diagnostics.length > MAX_MARKS) throw new Refused("diagnostics must be a list.");
  controls.setDiagnostics(
    (diagnostics as unknown[]).map((given): Mark => {
      if (!isRecord(given) || !isLine(given["line"])) throw new Refused("A diagnostic must have a line.");
      const { path, line, column, severity, message } = given;
      return {
        path: submitted(controls, path),
        line,
        column: isLine(column) ? column : 0,
        severity: severity === "warning" ? "warning" : "error",
        message: text("message", message).slice(0, 10_000),
      };
    }),
  );
}

/** The path of one of the files that are shown; by default the entry. */
function submitted(controls: Controls, path: unknown): string {
  const { entryFile, files } = controls.snapshot();
  if (path === undefined) return entryFile;
  const isKnown = typeof path === "string" && faultOfPath(path, []) === null;
  if (!isKnown || !visibleOf(files).some((file) => file.path === path)) {
    throw new Refused("path must be the path of a file that is shown.");
  }
  return path;
}

function text(name: string, value: unknown): string {
  if (typeof value !== "string") throw new Refused(`${name} must be a string.`);
  return value;
}

function themeOf(value: unknown): ThemeChoice {
  if (value === "auto" || value === "light" || value === "dark") return value;
  throw new Refused("theme must be auto, light or dark.");
}

function isLine(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}
