// Whether a run that was refused is sent again, and when.

import type { Answer } from "./client";

export interface Pause {
  waitMs: number;
  /** What the person waits for. */
  why: { kind: "limited" } | { kind: "busy"; message: string };
}

/** A service that says `busy` is asked so often again: it may be so for the day. */
const MOST_BUSY = 10;

const USUAL_MS = 5000;
const LONGEST_MS = 60_000;

/**
 * How long to wait after this answer, the one after `refusals` others; `null` where it is the last word. Pages of one
 * class are told the same second, so they spread, by a number `random` from 0 to 1 of each.
 */
export function pauseAfter(answer: Answer, refusals: number, random: number): Pause | null {
  if (answer.kind === "limited") {
    // Who has waited for a turn and found it taken does not wait for another one.
    const told = (refusals === 0 ? answer.turnMs : null) ?? answer.retryAfterMs;
    const waitMs = told ?? Math.min(USUAL_MS * 2 ** refusals, LONGEST_MS);
    return { waitMs: waitMs + random * 2000, why: { kind: "limited" } };
  }
  if (answer.kind !== "busy" || answer.retryAfterMs === null || refusals >= MOST_BUSY) return null;
  const spread = Math.min(answer.retryAfterMs, 15_000);
  return { waitMs: answer.retryAfterMs + random * spread, why: { kind: "busy", message: answer.message } };
}
