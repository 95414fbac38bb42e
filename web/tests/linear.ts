// Checks that reading a text does not take quadratic time.

import { expect, test } from "vitest";

export const FEW = 5000;
export const TIMES = 32;
/** Below that, times are noise. */
const MIN_MICROSECONDS = 1000;

/**
 * Work that takes the square of the length takes 1,024 times as long for 32 times as much. On a busy machine,
 * collected garbage and cold caches make the ratio of linear work several times as large.
 */
export function checkLinear(name: string, act: (text: string) => unknown, text: (length: number) => string): void {
  test(`takes no square of the length: ${name}`, () => {
    const [short, long] = [text(FEW), text(TIMES * FEW)];
    const few = Math.max(MIN_MICROSECONDS, cost(() => act(short)));
    expect(cost(() => act(long)) / few).toBeLessThan(6 * TIMES);
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
