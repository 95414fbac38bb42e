// Checks that reading a text does not take quadratic time.

import { expect, test } from "vitest";

export const LENGTH = 160_000;
/** Below that, times are noise, and the square of it is no burden. */
const MIN_MICROSECONDS = 1000;
/** For a text of twice the length; its square is 4. */
const MAX_RATIO = 3;
/** All else that runs on the machine makes a ratio larger. */
const ATTEMPTS = 10;

/**
 * Compares the time that a text takes with the time of one of half its length. The least of all tries counts; the
 * longer text comes first, so that the code is compiled when the shorter one is measured.
 */
export function checkLinear(name: string, act: (text: string) => unknown, text: (length: number) => string): void {
  test(`takes no square of the length: ${name}`, () => {
    const [half, whole] = [text(LENGTH / 2), text(LENGTH)];
    const least = { half: Infinity, whole: Infinity };
    const ratio = () => least.whole / Math.max(MIN_MICROSECONDS, least.half);
    for (let attempt = 0; attempt < ATTEMPTS && !(ratio() < MAX_RATIO); attempt += 1) {
      least.whole = Math.min(least.whole, cost(() => act(whole)));
      least.half = Math.min(least.half, cost(() => act(half)));
    }
    expect(ratio()).toBeLessThan(MAX_RATIO);
  });
}

export const repeated = (part: string, before = "", after = "") => (length: number) =>
  before + part.repeat(Math.ceil(length / part.length)) + after;

/** Its processor time, in microseconds, which others on the machine do not lengthen. */
function cost(act: () => unknown): number {
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
