// Whether and when a run that was refused is sent again.

import type { Answer } from "./client";

export interface Pause {
  waitMs: number;
  reason: { kind: "limited" } | { kind: "busy"; message: string };
}

/** Retries of a run while the service is busy. It may stay busy for the rest of the day. */
const MAX_BUSY_RETRIES = 10;

/** The wait after a first refusal without `Retry-After`, which doubles each time. */
const FIRST_WAIT_MS = 5000;
const MAX_WAIT_MS = 60_000;

/** The jitter is at least, and at most, this long. */
const MIN_SPREAD_MS = 2000;
const MAX_SPREAD_MS = 15_000;

/**
 * How long to wait after this answer, the first or one that comes after `refusals` others; `null` if the run is not sent
 * again. `Retry-After` is an estimate that many pages may get at once, so each adds jitter, by a number `random` from 0
 * to 1 of its own: up to as much again, within bounds.
 */
export function pauseAfter(answer: Answer, refusals: number, random: number): Pause | null {
  switch (answer.kind) {
    case "limited": {
      const estimateMs = answer.retryAfterMs ?? Math.min(FIRST_WAIT_MS * 2 ** refusals, MAX_WAIT_MS);
      return { waitMs: withJitter(estimateMs, random), reason: { kind: "limited" } };
    }
    case "busy": {
      const { retryAfterMs, message } = answer;
      if (retryAfterMs === null || refusals >= MAX_BUSY_RETRIES) return null;
      return { waitMs: withJitter(retryAfterMs, random), reason: { kind: "busy", message } };
    }
    default:
      return null;
  }
}

function withJitter(estimateMs: number, random: number): number {
  return estimateMs + random * Math.min(Math.max(estimateMs, MIN_SPREAD_MS), MAX_SPREAD_MS);
}
