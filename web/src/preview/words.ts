// In the frame: the words of our code there, which the editor sends.

import { filled } from "../filled";
import type { Key } from "../messages";

type FrameKey = Extract<Key, `frame.${string}`>;

let words: Readonly<Record<string, string>> = {};

/** Begins with these words. */
export function speak(given: Readonly<Record<string, string>>): void {
  words = given;
}

export function t(key: FrameKey, values: Readonly<Record<string, string>> = {}): string {
  return filled(words[key] ?? key, values);
}
