// The messages of beginners' programs in plain words: every explanation is that
// of a message which the tools wrote for a real program of tests/programs (most are in
// common-*.toml).

import { describe, expect, test } from "vitest";

import { Sources, marksOf } from "../src/errors";
import { meaningsOf } from "../src/errors/explain";
import { explanationsOf, settingsOf } from "./definitions";
import { checkLinear, repeated } from "./linear";
import { programsOf } from "./programs";

/** The messages of a language's programs. */
function messagesOf(language: string): string[] {
  return programsOf(language).flatMap(({ entryFile, files, result }) => {
    const marks = marksOf(settingsOf(language).messages, result, new Sources(entryFile, files));
    return marks.length > 0 ? marks.map(({ message }) => message) : result.stderr.split("\n");
  });
}

for (const language of ["python", "c", "cpp", "java", "php", "csharp"]) {
  describe(language, () => {
    const explanations = explanationsOf(language);
    const messages = messagesOf(language);
    const used = new Set(messages.map((message) => explanations.findIndex(([pattern]) => new RegExp(pattern, "m").test(message))));

    test.each(explanations.map(([pattern], index) => [pattern, index] as const))("%s", (_, index) => {
      expect(used).toContain(index);
    });

    test("all groups are there", () => {
      for (const message of messages) expect(meaningsOf(explanations, [message]).join()).not.toMatch(/\$<|“”|  /);
    });

    for (const part of ["a", " ", "'", "index out of range ", "No such file or directory: "]) {
      checkLinear(`lines of ${part}`, (text) => meaningsOf(explanations, [text]), repeated(part));
    }
  });
}

const EXPECTED: readonly [language: string, message: string, meanings: string[]][] = [
  ["python", "KeyError: 'b'", ["The dictionary has no key 'b'. Check its spelling, or ask first with “in”."]],
  ["python", "TypeError: greet() missing 1 required positional argument: 'name'", [
    "The call of greet gives too few values. Missing: 'name'.",
  ]],
  ["c", "‘stirng’ undeclared (first use in this function)", [
    "C does not know the name “stirng”. Check its spelling, and whether it is declared above and in this function.",
  ]],
  ["c", "Segmentation fault", [
    "The program accessed memory it does not own. Often a pointer is not set, or a position is outside of an array. Endless calls of a function end so, too.",
  ]],
  ["cpp", "Floating point exception", ["A whole number was divided by zero. Ask before whether the divisor is 0."]],
  ["cpp", "‘cout’ was not declared in this scope", [
    "“cout” belongs to the standard library: write std::cout, and check that its #include is there.",
  ]],
  ["cpp", "terminate called after throwing an instance of 'std::out_of_range'", [
    "The program asked for a position that is not there. The first one is 0, and the last one is less than the size.",
  ]],
  ["java", "cannot find symbol: class Scanner", ["Add the line import java.util.Scanner; at the top."]],
  ["javascript", "Error: getaddrinfo EAI_AGAIN example.com", [
    "Programs have no network here. Add the data to the program as a file.",
  ]],
  // Of a program that asks its own server too early, too.
  ...["Error: connect ECONNREFUSED 127.0.0.1:8080", "TypeError: fetch failed"].map(
    (message): [string, string, string[]] => ["typescript", message, [
      "Nothing answers at this address. Only a server that the program starts can, because programs have no network here.",
    ]],
  ),
  ["go", "dial tcp: lookup example.com on [::1]:53: read udp [::1]:60442->[::1]:53: read: connection refused", [
    "Programs have no network here. Add the data to the program as a file.",
  ]],
  // It may be the program's own server that does not listen yet.
  ["go", "dial tcp 127.0.0.1:80: connect: connection refused", []],
  ["rust", 'called `Result::unwrap()` on an `Err` value: Os { code: 111, kind: ConnectionRefused, message: "Connection refused" }', []],
  ["python", "nothing to explain", []],
];
test.each(EXPECTED)("%s: %s", (language, message, meanings) => {
  expect(meaningsOf(explanationsOf(language), [message])).toEqual(meanings);
});

test("the first three different meanings are shown", () => {
  const explanations = [["^(?<n>\\d)$", "$<n>"]] as const;
  expect(meaningsOf(explanations, ["1", "a", "1", "2", "3", "4"])).toEqual(["1", "2", "3"]);
});
