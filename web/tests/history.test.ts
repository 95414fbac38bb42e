// The lines that the arrow keys bring back.

import { expect, test } from "vitest";

import { History } from "../src/history";

test("an earlier line takes the place of what was typed, which comes back", () => {
  const history = new History(["one"]);
  history.add("two");
  const field = { value: "dra", setSelectionRange: () => undefined };
  const check = (by: 1 | -1, expected: string) => {
    history.recall(field, by);
    expect(field.value).toBe(expected);
  };
  check(1, "dra");
  check(-1, "two");
  check(-1, "one");
  check(-1, "one");
  check(1, "two");
  check(1, "dra");
  field.value = "draft";
  check(1, "draft");
  check(-1, "two");
  check(1, "draft");
});

test("without earlier lines, what was typed stays", () => {
  const history = new History();
  const field = { value: "a", setSelectionRange: () => undefined };
  for (const by of [-1, 1] as const) history.recall(field, by);
  expect(field.value).toBe("a");
});
