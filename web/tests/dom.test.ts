// The letters of keys, on any keyboard.

import { expect, test } from "vitest";

import { letterOf } from "../src/dom";

test("a key has its own Latin letter, or else that of its place", () => {
  const cases: [string, string, string][] = [
    ["s", "KeyS", "s"],
    ["S", "KeyS", "s"],
    // The layouts of Dvorak, Russian, Greek and German.
    ["o", "KeyS", "o"],
    ["\u044b", "KeyS", "s"],
    ["\u03c3", "KeyS", "s"],
    ["\u00df", "Minus", "minus"],
    ["Enter", "Enter", "enter"],
  ];
  for (const [key, code, letter] of cases) expect(letterOf({ key, code }), key).toBe(letter);
});
