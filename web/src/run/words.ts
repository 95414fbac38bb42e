// What is said about a run, in plain words.

import type { Answer, Exit } from "./client";

/** The line that stands after a run; it is also what a screen reader says. */
export function summary(answer: Answer): string {
  switch (answer.kind) {
    case "ran":
      return `${ending(answer.exit)} in ${seconds(answer.elapsedMs)}`;
    case "busy":
      return `Not run: ${answer.message || "the service is busy"}. Try again in a moment.`;
    case "too-large":
      return `Not run: ${answer.message || "the files are too large"}.`;
    case "refused":
      return `Not run: ${answer.message || `the service answered ${answer.status}`}.`;
    case "lost":
      return "The connection was lost. Your code is still here: try again.";
    case "limited":
      return "Too many runs: wait a moment.";
    case "stopped":
      return "Stopped.";
  }
}

/** While the service asks to wait. */
export function waiting(leftMs: number): string {
  const left = Math.max(1, Math.ceil(leftMs / 1000));
  return `Many people on your network are running code. Yours starts in ${left} s`;
}

/** While nothing has come back yet. */
export function running(elapsedMs: number): string {
  if (elapsedMs < 1000) return "Running…";
  return `Waiting or running… ${Math.floor(elapsedMs / 1000)} s`;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

function ending(exit: Exit): string {
  if (exit.limit !== undefined) return "Ended by a limit";
  if (exit.signal !== undefined) return `Ended by ${exit.signal}`;
  if (exit.stage === "compile") return "Did not compile";
  return exit.code === 0 || exit.code === undefined ? "Finished" : `Exit code ${exit.code}`;
}
