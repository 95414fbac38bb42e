// The sentences about a run, in plain words.

import type { InputNeed } from "../errors";
import { number, t, type Key } from "../messages";
import { plainText } from "../output/ansi";
import type { Answer, Exit, RunResult } from "./client";
import type { Verdict } from "./expected";
import { isRecording, type Artifact } from "./left";
import { isResults, shownOf } from "./query-results";
import type { Pause } from "./retry";
import type { RunState } from "./current-run";

/** Characters of a line that are read out. */
const MAX_SPOKEN = 200;

/** The line after a run, which screen readers announce. */
export function summary(answer: Answer, verdict: Verdict | null = null): string {
  switch (answer.kind) {
    case "ran":
      return withFiles(ending(answer, seconds(answer.elapsedMs), verdict), answer.left?.artifacts ?? []);
    case "busy":
      if (answer.isLive === true) {
        return t(/half/.test(answer.message) ? "run.live-taken-here" : "run.live-taken");
      }
      return answer.message === "" ? t("run.busy") : t("run.busy-reason", { reason: sentence(answer.message) });
    case "too-large":
      return tooLarge(answer.message);
    case "refused":
      if (answer.message === "") return foreign(answer.status);
      return answer.status < 500
        ? t("run.refused", { reason: sentence(answer.message) })
        : t("run.service-failed", { status: String(answer.status) });
    case "lost":
      return t(answer.isOffline ? "run.offline" : "run.lost");
    case "limited":
      return t("run.limited");
    case "stopped":
      return t("run.stopped");
  }
}

/** How a run ended, for the icon and the colour of its status. */
export type Outcome = "ok" | "differs" | "failed" | "compile" | "crash" | "limit" | "stopped" | "queued" | "refused" | "lost";

export function outcomeOf(answer: Answer, verdict: Verdict | null = null): Outcome {
  switch (answer.kind) {
    case "ran": {
      const state = outcome(answer.exit);
      return state === "ok" && verdict?.matches === false ? "differs" : state;
    }
    case "busy":
    case "limited":
      return "queued";
    case "too-large":
    case "refused":
      return "refused";
    default:
      return answer.kind;
  }
}

/** The words that are only spoken: of an error its first line, else how many results or lines came; `output` is `null` for a page. */
export function spoken({ exit, stderr, results = [] }: RunResult, error: string | null, output: string | null): string {
  const state = outcome(exit);
  if (state === "stopped") return "";
  if (state !== "ok") {
    const line = (error ?? plainText(stderr)).split("\n").find((one) => one.trim() !== "") ?? "";
    return line === "" ? "" : t("run.error-line", { line: line.trim().slice(0, MAX_SPOKEN) });
  }
  if (output === null) return "";
  const found = shownOf(results).length;
  if (found > 0) return t("run.results", { n: found });
  const count = output.trimEnd() === "" ? 0 : output.trimEnd().split("\n").length;
  return count === 0 ? t("run.no-output") : t("run.output-lines", { n: count });
}

/** The message of the line where the program crashed. */
export function crashedHere(signal: string): string {
  return t("run.crashed-here", { cause: causeOf(signal) });
}

/** The hint of the input box when it opens by itself. */
export function askForInput(need: InputNeed): string {
  return t(({ missing: "run.input-missing", short: "run.input-short", ended: "run.input-ended" } as const)[need]);
}

/** The status before a run is sent again. */
export function waiting(leftMs: number, reason: Pause["reason"]): string {
  const n = Math.max(1, Math.ceil(leftMs / 1000));
  if (reason.kind === "limited") return t("run.starts-in", { n });
  // While an image is built, the message of the service reports the progress.
  const isPrepared = /is being (prepared|replaced)/.test(reason.message);
  return isPrepared ? t("run.prepared-retry", { n, reason: sentence(reason.message) }) : t("run.busy-retry", { n });
}

/** The status until the answer comes. */
export function running(elapsedMs: number, state: RunState): string {
  if (elapsedMs < 1000) return t(state === "compiling" ? "run.compiling" : "start.running");
  return t(ELAPSED[state], { n: Math.floor(elapsedMs / 1000) });
}

/** The status of a live run that the server will soon end. */
export function endsIn(leftMs: number, takesInput: boolean): string {
  const n = Math.max(1, Math.ceil(leftMs / 1000));
  return t(takesInput ? "run.ends-without-input" : "run.ends-without-output", { n });
}

export function seconds(ms: number): string {
  return t("run.seconds", { time: number(ms / 1000, 2) });
}

/** The stages of a run in their order, each with its time. */
export function stages({ timings, elapsedMs }: RunResult): { name: string; time: string }[] {
  const known = Object.entries(STAGES).flatMap(([stage, key]) => {
    const ms = timings[stage];
    return ms === undefined ? [] : [{ name: t(key), ms }];
  });
  if (known.length === 0) return [];
  const server = known.reduce((sum, stage) => sum + stage.ms, 0);
  const rest = { name: t("run.stage-rest"), ms: Math.max(0, elapsedMs - server) };
  return [...known, rest].map(({ name, ms }) => ({ name, time: ms < 100 ? t("run.milliseconds", { time: number(ms, 1) }) : seconds(ms) }));
}

const ELAPSED: Readonly<Record<RunState, Key>> = {
  unknown: "run.seconds-unknown",
  queued: "run.seconds-queued",
  compiling: "run.seconds-compiling",
  running: "run.seconds-running",
};

const STAGES: Readonly<Record<string, Key>> = {
  queue: "run.stage-queue",
  prepare: "run.stage-prepare",
  compile: "run.stage-compile",
  run: "run.stage-run",
};

const SIGNALS: Readonly<Record<string, Key>> = {
  SIGSEGV: "run.sigsegv",
  SIGBUS: "run.sigbus",
  SIGFPE: "run.sigfpe",
  SIGABRT: "run.sigabrt",
  SIGILL: "run.sigill",
  SIGKILL: "run.sigkill",
  SIGTERM: "run.sigterm",
  SIGTRAP: "run.sigtrap",
  SIGPIPE: "run.sigpipe",
  SIGSYS: "run.sigsys",
};

const LIMITS: Readonly<Record<string, Key>> = {
  time: "run.limit-time",
  cpu: "run.limit-cpu",
  memory: "run.limit-memory",
  output: "run.limit-output",
  idle: "run.limit-idle",
};

function causeOf(signal: string): string {
  const key = SIGNALS[signal];
  return key === undefined ? signal : t("run.signal", { cause: t(key), signal });
}

function outcome({ isStopped, limit, signal, stage, code }: Exit): Outcome {
  if (isStopped === true) return "stopped";
  if (limit !== undefined) return "limit";
  if (signal !== undefined) return "crash";
  if (stage === "compile") return "compile";
  return code === 0 || code === undefined ? "ok" : "failed";
}

function ending({ exit, crash }: RunResult, time: string, verdict: Verdict | null): string {
  if (exit.isStopped === true) return t("run.stopped");
  const isCompiling = exit.stage === "compile";
  if (exit.limit !== undefined) {
    const key = LIMITS[exit.limit];
    const limit = key === undefined ? t("run.limit-other", { name: exit.limit }) : t(key);
    const words = t(isCompiling ? "run.limit-compiling" : "run.limit", { limit, time });
    return exit.limit === "output" ? t("run.truncated", { ending: words }) : words;
  }
  if (exit.signal !== undefined) {
    // A mark on that line says the cause.
    if (crash !== undefined) return t("run.crashed-in", { path: crash.path, line: String(crash.line), time });
    const cause = causeOf(exit.signal);
    return t(isCompiling ? "run.compiler-crashed" : "run.crashed", { time, cause });
  }
  if (isCompiling) return t("run.compile-error", { time });
  if (exit.code !== 0 && exit.code !== undefined) return t("run.failed", { code: String(exit.code), time });
  if (verdict === null) return t("run.finished", { time });
  return t(verdict.matches ? "run.matches" : "run.differs", { time });
}

function withFiles(ending: string, artifacts: readonly Artifact[]): string {
  const count = artifacts.filter((artifact) => !isRecording(artifact) && !isResults(artifact)).length;
  return count === 0 ? ending : t("run.left-files", { n: count, ending: ending.replace(/[.。]$/, "") });
}

/** The sentence about an answer that the service did not write. */
function foreign(code: number): string {
  const status = String(code);
  if (code < 300) return t("run.foreign-login");
  if (code === 404) return t("run.foreign-missing");
  if ([401, 403, 407, 451].includes(code)) return t("run.foreign-blocked", { status });
  if ([502, 504].includes(code)) return t("run.foreign-silent", { status });
  return t("run.foreign-other", { status });
}

/** With the limit that a message of the service names, such as 2 MiB. */
function tooLarge(message: string): string {
  const size = /(\d+) MiB\b/.exec(message)?.[1];
  if (size === undefined) return t("run.too-large");
  return t("run.too-large-limit", { limit: t("files.mib", { size: number(Number(size)) }) });
}

/** The text with a full stop at its end. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
