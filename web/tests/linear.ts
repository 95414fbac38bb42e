// Checks that reading a text does not take quadratic time.

import { expect, test } from "vitest";

export const LENGTH = 160_000;
/** Below that, times are noise, and squares are no burden. */
const MIN_MICROSECONDS = 4000;
/** For a text of four times the length. The square of it is 16; collected garbage can double the 4. */
const MAX_RATIO = 10;
/** All else that runs on the machine makes a ratio larger. */
const ATTEMPTS = 10;

/** Checks that a text takes no time that grows as the square of its length. */
export function checkLinear(name: string, act: (text: string) => unknown, text: (length: number) => string): void {
  test(`takes no square of the length: ${name}`, () => expectRatio(act, text, MAX_RATIO));
}

/** The same for lines that grow up to a bound: the square of their length is allowed, the cube is not. */
export function checkSquare(name: string, act: (text: string) => unknown, text: (length: number) => string): void {
  test(`takes no cube of the length: ${name}`, () => expectRatio(act, text, 4 * MAX_RATIO));
}

export const repeated = (part: string, before = "", after = "") => (length: number) =>
  before + part.repeat(Math.ceil(length / part.length)) + after;

/**
 * Compares the time that a text takes with the time of one of a quarter of its length. The least of all tries counts;
 * the longer text comes first, so that the code is compiled when the shorter one is measured.
 */
function expectRatio(act: (text: string) => unknown, text: (length: number) => string, limit: number): void {
  const [quarter, whole] = [text(LENGTH / 4), text(LENGTH)];
  const least = { quarter: Infinity, whole: Infinity };
  const ratio = () => least.whole / Math.max(MIN_MICROSECONDS, least.quarter);
  for (let attempt = 0; attempt < ATTEMPTS && !(ratio() < limit); attempt += 1) {
    least.whole = Math.min(least.whole, cost(() => act(whole)));
    least.quarter = Math.min(least.quarter, cost(() => act(quarter)));
  }
  expect(ratio()).toBeLessThan(limit);
}

/** Its processor time, in microseconds, which others on the machine do not lengthen. */
function cost(act: () => unknown): number {
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
