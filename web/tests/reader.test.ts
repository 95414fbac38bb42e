// The choices that a browser has kept: anything may have written them.

import { expect, test } from "vitest";

import { choicesIn } from "../src/store/reader";

test.each<[unknown, object]>([
  [{ theme: "dark", fontSize: 18, wrap: true, cols: 40.5 }, { theme: "dark", fontSize: 18, wrap: true, cols: 40.5 }],
  [{ theme: "red", fontSize: 1e9, wrap: "yes", cols: 0, rows: NaN, other: 1 }, {}],
  [null, {}],
  [[1], {}],
  ["dark", {}],
])("%j", (value, expected) => {
  expect(choicesIn(value)).toEqual(expected);
});
