// Checks that reading a text does not take quadratic time.

import { expect, test } from "vitest";

export const FEW = 5000;
export const TIMES = 32;
/** Below that, times are noise. */
const MIN_MICROSECONDS = 1000;
const MAX_RATIO = 6 * TIMES;
/** All else that runs on the machine makes a ratio larger. */
const ATTEMPTS = 3;

/**
 * Work that takes the square of the length takes 1,024 times as long for 32 times as much. On a busy machine,
 * collected garbage and cold caches make the ratio of linear work several times as large.
 */
export function checkLinear(name: string, act: (text: string) => unknown, text: (length: number) => string): void {
  test(`takes no square of the length: ${name}`, () => {
    const [short, long] = [text(FEW), text(TIMES * FEW)];
    const measured = () => cost(() => act(long)) / Math.max(MIN_MICROSECONDS, cost(() => act(short)));
    let ratio = measured();
    for (let attempt = 1; attempt < ATTEMPTS && ratio >= MAX_RATIO; attempt += 1) ratio = measured();
    expect(ratio).toBeLessThan(MAX_RATIO);
  });
}

export const repeated = (part: string, before = "", after = "") => (length: number) =>
  before + part.repeat(Math.ceil(length / part.length)) + after;

/** Its processor time, which others on the machine do not lengthen: of three tries the least. */
function cost(act: () => unknown): number {
  const tries = [1, 2, 3].map(() => {
    const before = process.cpuUsage();
    act();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.min(...tries);
}
