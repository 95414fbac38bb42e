// The messages that a page may send: several times as many as our code does, but
// not without end, as a page can get hold of our port.

import type { FromFrame } from "./protocol";

/** The messages that are accepted at once, and per second after that. */
export const MAX_MESSAGES = 10_000;
export const MESSAGES_PER_SECOND = 4000;
/** The price of a message that our code cannot have sent, and of one with a file. */
export const HIGH_COST = 100;

export class Allowance {
  private left = MAX_MESSAGES;
  private lastMs: number;

  constructor(nowMs: number) {
    this.lastMs = nowMs;
  }

  /** Whether the message is accepted; it is `null` if our code cannot have sent it. */
  pays(message: FromFrame | null, nowMs: number): boolean {
    const cost = message === null || message.type === "save" ? HIGH_COST : 1;
    const earned = ((nowMs - this.lastMs) / 1000) * MESSAGES_PER_SECOND;
    this.left = Math.min(MAX_MESSAGES, this.left + earned) - cost;
    this.lastMs = nowMs;
    return this.left >= 0;
  }
}
