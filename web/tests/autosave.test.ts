// Saved edits: for which page, for how long, and without storage.

import { expect, test } from "vitest";

import { Autosave, type AutosaveOptions } from "../src/store/autosave";
import { keyOf } from "../src/store/edits";
import type { Snapshot } from "../src/workspace";

const DAY = 24 * 60 * 60 * 1000;

/** A Storage with room for so many characters. */
class Memory implements Storage {
  [name: string]: unknown;
  readonly entries = new Map<string, string>();
  readonly room: number;

  constructor(room = Infinity) {
    this.room = room;
  }
  get length(): number {
    return this.entries.size;
  }
  clear(): void {
    this.entries.clear();
  }
  getItem(key: string): string | null {
    return this.entries.get(key) ?? null;
  }
  key(index: number): string | null {
    return [...this.entries.keys()][index] ?? null;
  }
  removeItem(key: string): void {
    this.entries.delete(key);
  }
  setItem(key: string, value: string): void {
    const others = [...this.entries].filter(([other]) => other !== key);
    const used = others.reduce((sum, [name, text]) => sum + name.length + text.length, 0);
    if (used + key.length + value.length > this.room) throw new DOMException("full", "QuotaExceededError");
    this.entries.set(key, value);
  }
}

const code = (content: string): Snapshot => ({
  entryFile: "main.py",
  files: [{ path: "main.py", content }],
  stdin: "",
});
const starter = code("print(1)");
const edited = code("print(2)");

function autosave(storage: Storage, options: Partial<AutosaveOptions> = {}): Autosave {
  return new Autosave({ storage: () => storage, language: "python", key: "page", starter, ...options });
}

test("edits are found again", () => {
  const storage = new Memory();
  expect(autosave(storage).all()).toEqual([]);
  autosave(storage).save(edited);
  expect(autosave(storage).all()).toMatchObject([{ snapshot: edited, kind: "latest" }]);
});

test("the start itself is not saved", () => {
  const storage = new Memory();
  const page = autosave(storage);
  page.save(edited);
  page.save(starter);
  expect(storage.length).toBe(0);
});

test("edits that were not made from the saved ones put those aside", () => {
  const storage = new Memory();
  let time = 0;
  const [one, other] = [0, 1].map(() => autosave(storage, { now: () => ++time })) as [Autosave, Autosave];
  const check = (...expected: string[]) => {
    expect(one.all().map(({ snapshot }) => snapshot.files[0]?.content)).toEqual(expected);
  };
  one.save(code("one"));
  one.save(code("one, longer"));
  check("one, longer");
  // A start that is saved by hand removes nothing of another's.
  other.save(starter);
  check("one, longer");
  other.save(code("other"));
  check("other", "one, longer");
  one.save(code("one, on"));
  check("one, on", "other");
  // What is restored is no other.
  other.release();
  other.save(code("one, on"));
  check("one, on", "other");
  other.release();
  other.save(code("other"));
  check("other", "one, on");
  one.take(one.all()[0] ?? expect.fail("nothing is kept"));
  one.save(code("other, on"));
  check("other, on", "one, on");
});

test("languages and pages have edits of their own", () => {
  const storage = new Memory();
  autosave(storage).save(edited);
  expect(autosave(storage, { language: "php" }).all()).toEqual([]);
  expect(autosave(storage, { key: "other" }).all()).toEqual([]);
  expect(autosave(storage, { key: "page/x" }).all()).toEqual([]);
});

test("edits of an older start are marked, until there are those of this one", () => {
  const storage = new Memory();
  autosave(storage).save(edited);
  const changed = autosave(storage, { starter: code("print(3)") });
  expect(changed.all()).toMatchObject([{ snapshot: edited, kind: "older" }]);
  changed.save(code("print(4)"));
  expect(changed.all()[0]?.snapshot).toEqual(code("print(4)"));
  expect(changed.all()).toHaveLength(1);
  expect(autosave(storage, { starter: code("print(5)"), now: () => Date.now() + 1 }).all()).toHaveLength(2);
});

test("an older edit that is the new start is not offered", () => {
  const storage = new Memory();
  autosave(storage).save(edited);
  expect(autosave(storage, { starter: edited }).all()).toEqual([]);
});

test("after two weeks edits are removed, those of other pages too", () => {
  const storage = new Memory();
  autosave(storage, { now: () => 0 }).save(edited);
  autosave(storage, { now: () => 0, key: "other" }).save(edited);
  storage.setItem("theirs", "x");
  expect(autosave(storage, { now: () => 14 * DAY - 1 }).all()).not.toEqual([]);
  expect(autosave(storage, { now: () => 14 * DAY }).all()).toEqual([]);
  expect([...storage.entries.keys()]).toEqual(["theirs"]);
});

test("edits that were tampered with are not restored", () => {
  const storage = new Memory();
  autosave(storage).save(edited);
  const key = storage.key(0) ?? "";
  const kept = [
    "x",
    "null",
    "{}",
    `{"savedAt":"1","snapshot":{}}`,
    JSON.stringify({ savedAt: Date.now(), snapshot: { files: [{ path: "../x", content: "" }] } }),
  ];
  for (const text of kept) {
    storage.setItem(key, text);
    expect(autosave(storage).all(), text).toEqual([]);
  }
});

test("blocked storage is no error", () => {
  const blocked = autosave(new Memory(), {
    storage: () => {
      throw new DOMException("blocked", "SecurityError");
    },
  });
  blocked.save(edited);
  blocked.release();
  expect(blocked.all()).toEqual([]);
  autosave(new Memory(0)).save(edited);
});

test("full storage loses the oldest edits", () => {
  const storage = new Memory(600);
  for (const day of [1, 2]) autosave(storage, { key: `page${day}`, now: () => day * DAY }).save(edited);
  const large = code("x".repeat(250));
  autosave(storage, { now: () => 3 * DAY }).save(large);
  expect(autosave(storage, { now: () => 3 * DAY }).all()[0]?.snapshot).toEqual(large);
  expect(autosave(storage, { key: "page1", now: () => 3 * DAY }).all()).toEqual([]);
  expect(autosave(storage, { key: "page2", now: () => 3 * DAY }).all()).not.toEqual([]);
});

test("each site and page has a key", () => {
  const [school, other] = ["https://school.example", "https://other.example"];
  const keys = [
    keyOf("page", school, `${school}/1`),
    keyOf("page", school, `${school}/2`),
    keyOf("same", school, `${school}/1`),
    keyOf("same", other, `${other}/1`),
    // Keys that name nobody, and keys that look like another's.
    keyOf("same", null, ""),
    keyOf(`${school}/1 page`, school, `${school}/3`),
    keyOf(`${school}/1 page`, null, ""),
  ];
  expect(new Set(keys).size).toBe(keys.length);
  expect(keyOf("same", school, `${school}/1`)).toBe(keyOf("same", school, `${school}/2`));
  // A browser that does not name the embedding site.
  expect(keyOf("same", null, `${school}/1`)).not.toBe(keyOf("same", null, `${other}/1`));
  expect(keyOf("same", null, `${school}/1`)).toBe(keyOf("same", null, `${school}/2`));
});
