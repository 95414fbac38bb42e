// Code in the URL: it is written and read, and damaged or hostile code is
// refused.

import { expect, test } from "vitest";

import { readFragment, startingPoint, writeFragment } from "../src/parent/fragment";
import type { Snapshot } from "../src/workspace";

const snapshot: Snapshot = {
  entryFile: "src/main.py",
  files: [
    { path: "src/main.py", content: "print('größer 🐍')\n" },
    { path: "data & more.txt", content: "</script>#=\u2028" },
  ],
  stdin: "1\n2\n",
};

test("code that is written can be read", async () => {
  const fragment = await writeFragment(snapshot);
  expect(fragment).toMatch(/^code=[\w-]+$/);
  expect(await readFragment(`#${fragment}`, "main.py")).toEqual({ value: snapshot, fault: null });
});

test("a thousand characters of code make a short link", async () => {
  const content = "for (int i = 0; i < 10; i++) printf(\"%d\\n\", i);\n".repeat(20);
  const fragment = await writeFragment({ entryFile: "main.c", files: [{ path: "main.c", content }], stdin: "" });
  expect(fragment.length).toBeLessThan(250);
});

test("JSON can be written by hand", async () => {
  const hash = `#json=${encodeURIComponent('{"files":[{"content":"a = 1"}]}')}`;
  const files = [{ path: "main.py", content: "a = 1" }];
  expect((await readFragment(hash, "main.py"))?.value).toEqual({ entryFile: "main.py", files, stdin: "" });
});

test("other fragments are ignored", async () => {
  for (const hash of ["", "#", "#top", "#codes=1", "#L10"]) expect(await readFragment(hash, "a")).toBeNull();
});

test("damaged code leaves the starter", async () => {
  const fragment = await writeFragment(snapshot);
  const damaged = ["code=", "code=!", "code=AAAA", fragment.slice(0, -6), "json=%7B", "json=%zz", "json=%5B%5D"];
  for (const hash of damaged) {
    const start = await startingPoint(`#${hash}`, snapshot);
    expect(start, hash).toMatchObject({ snapshot, isFromLink: false });
    expect(start.fault, hash).not.toBeNull();
  }
});

test("a small link that unpacks to much is refused", async () => {
  const content = "a".repeat(20_000_000);
  const bomb = await writeFragment({ entryFile: "a", files: [{ path: "a", content }], stdin: "" });
  expect((await readFragment(bomb, "a"))?.fault).toBe("The code in the link is too large.");
});

test("paths are checked, and sizes", async () => {
  const read = (value: unknown) => readFragment(`json=${encodeURIComponent(JSON.stringify(value))}`, "main.c");
  const file = (path: unknown, content: unknown = "") => ({ path, content });
  const refused: unknown[] = [
    null,
    [],
    {},
    { files: [] },
    { files: [null] },
    { files: [file("../x")] },
    { files: [file("/x")] },
    { files: [file("a"), file("a")] },
    { files: [file("a"), file("a/b")] },
    { files: [file(1)] },
    { files: [file("a", 1)] },
    { files: [file("a"), { content: "" }] },
    { files: [file("a")], entryFile: "b" },
    { files: [file("a")], stdin: 1 },
    { files: Array.from({ length: 201 }, (_, index) => file(`f${index}`)) },
    { files: [file("a", "x".repeat(2 * 1024 * 1024))] },
  ];
  for (const value of refused) expect((await read(value))?.value, JSON.stringify(value)?.slice(0, 80)).toBeNull();
  const several = await read({ files: [file("a.c"), file("main.c")] });
  expect(several?.value?.entryFile).toBe("main.c");
});
