// Messages of tools in plain words, by the explanations of the language's
// definition.

import { expression } from "./pattern";

/** A pattern of messages, and their meaning. `$<name>` stands for a group of the pattern. */
export type Explanation = readonly [pattern: string, meaning: string];

/** Later errors often come of the first ones. */
const MAX_EXPLAINED = 3;
/** Only the beginning of a longer message is read. */
const LENGTH_READ = 2000;

/** The meanings of the messages, in their order; none comes twice. */
export function meaningsOf(explanations: readonly Explanation[], messages: readonly string[]): string[] {
  const patterns = explanations.map(([pattern, meaning]) => ({ pattern: expression(pattern, "m"), meaning }));
  const found = new Set<string>();
  for (const message of messages) {
    const text = message.slice(0, LENGTH_READ);
    for (const { pattern, meaning } of patterns) {
      const match = pattern.exec(text);
      if (match === null) continue;
      found.add(meaning.replace(/\$<(\w+)>/g, (_, name: string) => match.groups?.[name] ?? ""));
      break;
    }
    if (found.size === MAX_EXPLAINED) break;
  }
  return [...found];
}
