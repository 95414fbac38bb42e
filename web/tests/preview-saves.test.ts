// The names and contents of files that a page would save.

import { expect, test } from "vitest";

import { readMessage } from "../src/preview/protocol";
import { cleanName } from "../src/preview/saves";

const names: readonly [asked: string, clean: string][] = [
  ["a.txt", "a.txt"],
  ["Größe 1.csv", "Größe 1.csv"],
  ["../../etc/passwd", "passwd"],
  ["C:\\Windows\\x.dll", "x.dll"],
  [".bashrc", "bashrc"],
  ["a\u202etxt.exe", "atxt.exe"],
  ["a\u0000\n\u200b.txt", "a.txt"],
  ["a\ud800.txt", "a.txt"],
  ['<a>:"|?*.txt', "_a______.txt"],
  ["%USERPROFILE%.txt", "_USERPROFILE_.txt"],
  ["name. . .", "name"],
  ["", "download"],
  ["..", "download"],
  [`${"x".repeat(500)}.txt`, `${"x".repeat(96)}.txt`],
  [`${"😀".repeat(150)}`, "😀".repeat(100)],
];

test.each(names)("the name of %j is %j", (asked, clean) => {
  expect(cleanName(asked)).toBe(clean);
});

test("a file to save has a short name and a content of bounded size", () => {
  const good = { type: "save", name: "a", address: "", content: new Blob(["x"]) };
  expect(readMessage(good)).toEqual(good);
  expect(readMessage({ ...good, content: null })).not.toBeNull();
  const large = Object.create(Blob.prototype, { size: { value: 2 ** 40 } }) as Blob;
  for (const wrong of [{ name: 1 }, { name: "x".repeat(2000) }, { address: null }, { content: "x" }, { content: large }]) {
    expect(readMessage({ ...good, ...wrong }), Object.keys(wrong)[0]).toBeNull();
  }
});
