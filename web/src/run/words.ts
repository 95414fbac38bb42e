// What is said about a run, in plain words.

import type { InputNeed } from "../errors";
import type { Answer, Exit, RunResult } from "./client";
import type { Pause } from "./patience";

/** The line that stands after a run; it is also what a screen reader says. */
export function summary(answer: Answer): string {
  switch (answer.kind) {
    case "ran":
      return ending(answer.exit, seconds(answer.elapsedMs));
    case "busy":
      return `Not run: ${sentence(answer.message || "the service is busy")} Try again in a moment.`;
    case "too-large":
      return `Not run: ${sentence(answer.message || "the files are too large")}`;
    case "refused":
      if (answer.message === "") return `Not run: ${foreign(answer.status)}`;
      return answer.status < 500
        ? `Not run: ${sentence(answer.message)}`
        : `Not run: the service failed (${answer.status}). Your code is still here: try again in a moment.`;
    case "lost":
      return answer.isOffline
        ? "You are offline. Your code is still here: press Run when the connection is back."
        : "The connection was lost. Your code is still here: try again.";
    case "limited":
      return "Too many runs: wait a moment.";
    case "stopped":
      return "Stopped.";
  }
}

/** What the input box says when it opens by itself. */
export function askForInput(need: InputNeed): string {
  const what = {
    missing: "asked for input, and there was none",
    short: "asked for more input than there was",
    ended: "wrote without end: its input may have ended while it went on asking",
  }[need];
  return `The program ${what}. Type one answer per line here, then press Run.`;
}

/** While the service asks to wait. */
export function waiting(leftMs: number, why: Pause["why"]): string {
  const left = Math.max(1, Math.ceil(leftMs / 1000));
  if (why.kind === "limited") return `Too many runs from your network. Yours starts in ${left} s`;
  // A language whose image is being built says how far that is.
  const words = /is being (prepared|replaced)/.test(why.message) ? sentence(why.message) : "The service is busy.";
  return `${words} Yours is sent again in ${left} s`;
}

/** While nothing has come back yet. */
export function running(elapsedMs: number): string {
  if (elapsedMs < 1000) return "Running…";
  return `Waiting or running… ${Math.floor(elapsedMs / 1000)} s`;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** The stages that took time, in their order: what it was, and for how long. */
export function stages({ timings, elapsedMs }: RunResult): { name: string; time: string }[] {
  const names: Readonly<Record<string, string>> = {
    queue: "Waiting for a place",
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
  SIGSEGV: "it used memory that is not its own (segmentation fault)",
  SIGBUS: "it used memory that is not there (bus error)",
  SIGFPE: "it divided a whole number by zero, or the like",
  SIGABRT: "it gave up (aborted)",
  SIGILL: "it came to an instruction that does not exist",
  SIGKILL: "it was killed",
  SIGTERM: "it was asked to end",
  SIGTRAP: "it came to a trap",
  SIGPIPE: "it wrote to something that was closed",
  SIGSYS: "it asked the system for what is not allowed here",
};

function ending(exit: Exit, time: string): string {
  const what = exit.stage === "compile" ? "Compiling" : "The program";
  switch (exit.limit) {
    case undefined:
      break;
    case "time":
      return `${what} took too long and was stopped after ${time}`;
    case "cpu":
      return `${what} used too much processor time and was stopped after ${time}`;
    case "memory":
      return `${what} used too much memory and was stopped after ${time}`;
    case "output":
      return `${what} wrote too much: it was stopped after ${time}, and the output is cut off`;
    default:
      return `${what} came to a limit (${exit.limit}) and was stopped after ${time}`;
  }
  if (exit.signal !== undefined) {
    const words = SIGNALS[exit.signal];
    return `${what} crashed after ${time}: ${words === undefined ? exit.signal : `${words}, ${exit.signal}`}`;
  }
  if (exit.stage === "compile") return `Did not compile, after ${time}`;
  if (exit.code === 0 || exit.code === undefined) return `Finished in ${time}`;
  return `Finished with exit code ${exit.code} in ${time}`;
}

/** Of an answer that the service did not write. */
function foreign(status: number): string {
  if (status < 300) return "the answer did not come from the service. Does your network want you to log in?";
  if (status === 404) return "nothing runs code at this address (404). Tell those who run this page.";
  if ([401, 403, 407, 451].includes(status)) return `your network does not let code through to the service (${status}).`;
  if ([502, 504].includes(status)) {
    return `the service did not answer (${status}). Your code is still here: try again in a moment.`;
  }
  return `something between you and the service answered ${status}. Your code is still here: try again.`;
}

/** With a full stop at its end. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
