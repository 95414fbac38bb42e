// The messages that a page may send to the editor, by their price.

import { describe, expect, test } from "vitest";

import { Allowance, HIGH_COST, MAX_MESSAGES, MESSAGES_PER_SECOND } from "../src/preview/allowance";
import { MAX_AT_ONCE, readMessage, type FromFrame } from "../src/preview/protocol";

const entry = { level: "log", values: [], depth: 0, table: null, stack: "", isUncaught: false };
const save = { type: "save", name: "a", address: "", content: null };

/** The messages of this kind that are accepted at once. */
function accepted(message: FromFrame | null, allowance = new Allowance(0), nowMs = 0): number {
  let count = 0;
  while (count <= MAX_MESSAGES && allowance.pays(message, nowMs)) count += 1;
  return count;
}

describe("at once are accepted", () => {
  test.each<[string, unknown, number]>([
    ["entries", { type: "entry", entry }, MAX_MESSAGES],
    ["clearings", { type: "clear" }, MAX_MESSAGES],
    ["answers", { type: "pong" }, MAX_MESSAGES],
    ["messages that are none", { i: 1 }, MAX_MESSAGES / HIGH_COST],
    ["long texts", { type: "entry", entry: { ...entry, stack: "x".repeat(100_000) } }, MAX_MESSAGES / HIGH_COST],
    ["files", save, MAX_MESSAGES / HIGH_COST],
  ])("%s", (_, data, count) => {
    expect(accepted(readMessage(data))).toBe(count);
  });
});

test("every second earns more, but never more than at first", () => {
  const allowance = new Allowance(0);
  const pong = { type: "pong" } as const;
  expect(accepted(pong, allowance)).toBe(MAX_MESSAGES);
  // The one that was refused was paid, too.
  expect(accepted(pong, allowance, 1000)).toBe(MESSAGES_PER_SECOND - 1);
  expect(accepted(pong, allowance, 3_600_000)).toBe(MAX_MESSAGES);
});

test("code that sends twice as much as ours from one ping to the next never sends too much", () => {
  const allowance = new Allowance(0);
  let refused = 0;
  for (let second = 1; second <= 10; second += 1) {
    for (let count = 0; count < 2 * MAX_AT_ONCE; count += 1) {
      if (!allowance.pays({ type: "pong" }, second * 1000)) refused += 1;
    }
  }
  expect(refused).toBe(0);
});
