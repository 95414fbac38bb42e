// The sentences about a run, in plain words.

import type { InputNeed } from "../errors";
import { plainText } from "../output/ansi";
import type { Answer, Exit, RunResult } from "./client";
import { isRecording, type Artifact } from "./left";
import type { Pause } from "./patience";
import type { RunState } from "./session";

/** Characters of a line that are read out. */
const MAX_SPOKEN = 200;

/** The line after a run, which screen readers announce. */
export function summary(answer: Answer): string {
  switch (answer.kind) {
    case "ran":
      return ending(answer.exit, seconds(answer.elapsedMs)) + files(answer.left?.artifacts ?? []);
    case "busy":
      if (answer.isLive === true) {
        return /half/.test(answer.message) ? "Your network's live runs are taken." : "All live runs are taken.";
      }
      return `Not run: ${sentence(answer.message || "the service is busy")} Try again in a moment.`;
    case "too-large":
      return `Not run: your files are too large${limitIn(answer.message)}.`;
    case "refused":
      if (answer.message === "") return `Not run: ${foreign(answer.status)}`;
      return answer.status < 500
        ? `Not run: ${sentence(answer.message)}`
        : `Not run: the service failed (${answer.status}). Your code is still here: try again in a moment.`;
    case "lost":
      return answer.isOffline
        ? "You are offline. Your code is still here: press Run when you are connected again."
        : "The connection was lost. Your code is still here: try again.";
    case "limited":
      return "Too many runs: try again in a moment.";
    case "stopped":
      return "Stopped.";
  }
}

/** How a run ended, for the icon and the colour of its status. */
export type Outcome = "ok" | "failed" | "compile" | "crash" | "limit" | "stopped" | "queued" | "refused" | "lost";

export function outcomeOf(answer: Answer): Outcome {
  switch (answer.kind) {
    case "ran":
      return outcome(answer.exit);
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

/** The words that are only spoken: of an error its first line, else how many lines came; `output` is `null` for a page. */
export function spoken({ exit, stderr }: RunResult, error: string | null, output: string | null): string {
  const state = outcome(exit);
  if (state === "stopped") return "";
  if (state !== "ok") {
    const line = (error ?? plainText(stderr)).split("\n").find((one) => one.trim() !== "") ?? "";
    return line === "" ? "" : `: ${line.trim().slice(0, MAX_SPOKEN)}`;
  }
  if (output === null) return "";
  const count = output.trimEnd() === "" ? 0 : output.trimEnd().split("\n").length;
  return count === 0 ? ", no output" : `, ${count} ${count === 1 ? "line" : "lines"} of output`;
}

/** The hint of the input box when it opens by itself. */
export function askForInput(need: InputNeed): string {
  const problem = {
    missing: "asked for input, but there was none",
    short: "asked for more input than there was",
    ended: "printed without end: perhaps it kept asking after its input had ended",
  }[need];
  return `The program ${problem}. Type one answer per line here, then press Run.`;
}

/** The status before a run is sent again. */
export function waiting(leftMs: number, reason: Pause["reason"]): string {
  const left = Math.max(1, Math.ceil(leftMs / 1000));
  return `${cause(reason)} ${reason.kind === "limited" ? "Yours starts" : "Retrying"} in ${left} s`;
}

function cause(reason: Pause["reason"]): string {
  if (reason.kind === "limited") return "Too many runs from your network.";
  // While an image is built, the message of the service tells the progress.
  return /is being (prepared|replaced)/.test(reason.message) ? sentence(reason.message) : "The service is busy.";
}

/** The status until the answer comes. */
export function running(elapsedMs: number, state: RunState): string {
  if (elapsedMs < 1000) return state === "compiling" ? "Compiling…" : "Running…";
  const words = { unknown: "Queued or running", queued: "In the queue", compiling: "Compiling", running: "Running" }[state];
  return `${words}… ${Math.floor(elapsedMs / 1000)} s`;
}

/** The status of a live run that the server will soon end. */
export function endsIn(leftMs: number, takesInput: boolean): string {
  return `Ends in ${Math.max(1, Math.ceil(leftMs / 1000))} s without ${takesInput ? "input" : "output"}`;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** The stages of a run in their order, each with its time. */
export function stages({ timings, elapsedMs }: RunResult): { name: string; time: string }[] {
  const names: Readonly<Record<string, string>> = {
    queue: "Queued",
    prepare: "Preparing",
    compile: "Compiling",
    run: "Running",
  };
  const known = Object.entries(names).flatMap(([key, name]) => {
    const ms = timings[key];
    return ms === undefined ? [] : [{ name, ms }];
  });
  if (known.length === 0) return [];
  const server = known.reduce((sum, stage) => sum + stage.ms, 0);
  const rest = { name: "Sending and receiving", ms: Math.max(0, elapsedMs - server) };
  return [...known, rest].map(({ name, ms }) => ({ name, time: ms < 100 ? `${ms.toFixed(1)} ms` : seconds(ms) }));
}

const SIGNALS: Readonly<Record<string, string>> = {
  SIGSEGV: "it accessed memory it does not own",
  SIGBUS: "it accessed memory that does not exist",
  SIGFPE: "arithmetic error, such as an integer division by zero",
  SIGABRT: "uncaught exception or abort()",
  SIGILL: "it hit an illegal instruction",
  SIGKILL: "it was killed",
  SIGTERM: "it was asked to stop",
  SIGTRAP: "it hit a breakpoint trap",
  SIGPIPE: "it wrote to a closed pipe",
  SIGSYS: "it made a system call that is not allowed here",
};

const LIMITS: Readonly<Record<string, string>> = {
  time: "Took too long",
  cpu: "Too much processor time",
  memory: "Too much memory",
  output: "Too much output",
  idle: "Waited too long for input",
};

function outcome({ isStopped, limit, signal, stage, code }: Exit): Outcome {
  if (isStopped === true) return "stopped";
  if (limit !== undefined) return "limit";
  if (signal !== undefined) return "crash";
  if (stage === "compile") return "compile";
  return code === 0 || code === undefined ? "ok" : "failed";
}

function ending(exit: Exit, time: string): string {
  if (exit.isStopped === true) return "Stopped.";
  const isCompiling = exit.stage === "compile";
  if (exit.limit !== undefined) {
    const words = LIMITS[exit.limit] ?? `Limit reached (${exit.limit})`;
    const isCut = exit.limit === "output";
    return `${words}: ${isCompiling ? "compiling " : ""}stopped after ${time}${isCut ? ", output truncated" : ""}`;
  }
  if (exit.signal !== undefined) {
    const words = SIGNALS[exit.signal];
    const cause = words === undefined ? exit.signal : `${words} (${exit.signal})`;
    return `${isCompiling ? "The compiler crashed" : "Crashed"} after ${time}: ${cause}`;
  }
  if (isCompiling) return `Compile error (${time})`;
  if (exit.code === 0 || exit.code === undefined) return `Finished in ${time}`;
  return `Failed with exit code ${exit.code} (${time})`;
}

function files(artifacts: readonly Artifact[]): string {
  const count = artifacts.filter((artifact) => !isRecording(artifact)).length;
  return count === 0 ? "" : `; it left ${count} ${count === 1 ? "file" : "files"}`;
}

/** The sentence about an answer that the service did not write. */
function foreign(status: number): string {
  if (status < 300) return "the answer did not come from the service. Do you have to log in to your network?";
  if (status === 404) return "there is no service at this address (404). Please tell the site's owner.";
  if ([401, 403, 407, 451].includes(status)) return `your network blocks the service (${status}).`;
  if ([502, 504].includes(status)) {
    return `the service did not answer (${status}). Your code is still here: try again in a moment.`;
  }
  return `a server between you and the service answered ${status}. Your code is still here: try again.`;
}

/** The limit that a message of the service names, such as 2 MiB. */
function limitIn(message: string): string {
  const limit = /\d+ \w?i?B\b/.exec(message)?.[0];
  return limit === undefined ? "" : `: the limit is ${limit}`;
}

/** The text with a full stop at its end. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
