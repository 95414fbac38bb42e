// Locked lines: how they are written, which changes they refuse, where they are
// after others, and what becomes of the reader's edits when the author changes them.

import { history, redo, undo } from "@codemirror/commands";
import { EditorState, type Transaction } from "@codemirror/state";
import { expect, test } from "vitest";

import { lockedLines, lockedNow } from "../src/editor/locked";
import { readSpans, writeSpans } from "../src/locks";
import { inProgram } from "../src/store/authored";
import { readSnapshot } from "../src/store/snapshot";
import type { Snapshot, SourceFile } from "../src/workspace";

/** Six lines; the last one is empty. */
const CODE = "one\ntwo\nthree\nfour\nfive\n";

test("lines are named as lists of numbers and spans", () => {
  const cases: [string, string][] = [
    ["2", "2"],
    ["1-3", "1-3"],
    [" 5 - , 2-3,1 ", "1,2-3,5-"],
    ["1-3,2-4", "1-4"],
    ["3-,4", "3-"],
    ["5-99", "5-6"],
    ["1-3,4-5", "1-3,4-5"],
    // There are no such lines.
    ["7,0,3-2,4", "4"],
    ["7-", ""],
  ];
  for (const [spec, written] of cases) {
    expect(writeSpans(readSpans(spec, CODE)), spec).toBe(written);
  }
});

function stateWith(locked: string): EditorState {
  return EditorState.create({ doc: CODE, extensions: [history(), lockedLines(locked, CODE, () => undefined)] });
}

/** Replaces the text `from` by `to`; both have `|` where the text that is replaced begins and ends. */
function edited(state: EditorState, marked: string, insert: string): EditorState {
  const [before = "", removed = ""] = marked.split("|");
  expect(state.doc.toString()).toBe(marked.replaceAll("|", ""));
  return state.update({ changes: { from: before.length, to: before.length + removed.length, insert } }).state;
}

test("changes that touch locked lines are refused, and the lines move with others", () => {
  const cases: [string, string, string, string | null][] = [
    // In, before and after a locked line.
    ["3", "one\ntwo\nth||ree\nfour\nfive\n", "x", null],
    ["3", "one\ntwo\n||three\nfour\nfive\n", "x", null],
    ["3", "one\ntwo\nthree||\nfour\nfive\n", "x", null],
    ["3", "one\ntwo|\n|three\nfour\nfive\n", "", null],
    ["3", "one\ntwo\nthree|\n|four\nfive\n", "", null],
    ["3", "|one\ntwo\nthree\nfour\nfive\n|", "x", null],
    ["3", "|one\ntwo\n|three\nfour\nfive\n", "x", null],
    // A line stays free before it: without one it would be the beginning, before which nothing can be added.
    ["3", "|one\ntwo\n|three\nfour\nfive\n", "", null],
    ["3", "|one\ntwo|\nthree\nfour\nfive\n", "", "2"],
    ["3", "one\ntwo|\n|three\nfour\nfive\n", "\n\n", "4"],
    ["3", "one\ntwo\n||three\nfour\nfive\n", "x\ny\n", "5"],
    ["3", "one\ntwo\nthree||\nfour\nfive\n", "\nx", "3"],
    ["3", "one\ntwo\nthree|\nfour\nfive\n|", "", "3"],
    ["3", "one\ntw||o\nthree\nfour\nfive\n", "\n", "4"],
    ["3", "one\ntwo\nthree\nf||our\nfive\n", "\n", "3"],
    // Nothing comes before the first line, or after the end.
    ["1-2", "||one\ntwo\nthree\nfour\nfive\n", "x\n", null],
    ["4-", "one\ntwo\nthree\nfour\nfive\n||", "\nx", null],
    ["4-", "one\n|two\n|three\nfour\nfive\n", "", "3-"],
    // Between two.
    ["1,3", "one\n|two\n|three\nfour\nfive\n", "", "1,2"],
    ["1,2", "one||\ntwo\nthree\nfour\nfive\n", "\n", "1,3"],
    ["1-2", "one||\ntwo\nthree\nfour\nfive\n", "\n", null],
  ];
  for (const [locked, marked, insert, after] of cases) {
    const what = JSON.stringify([locked, marked, insert]);
    const before = stateWith(locked);
    const changed = edited(before, marked, insert);
    expect(changed.doc.eq(before.doc), what).toBe(after === null);
    expect(lockedNow(changed), what).toBe(after ?? locked);
    // Undone, and done again.
    let state = changed;
    const dispatch = (transaction: Transaction) => void (state = transaction.state);
    undo({ state, dispatch });
    expect([state.doc.toString(), lockedNow(state)], what).toEqual([CODE, locked]);
    redo({ state, dispatch });
    expect([state.doc.toString(), lockedNow(state)], what).toEqual([changed.doc.toString(), lockedNow(changed)]);
  }
});

const snapshotOf = (...files: SourceFile[]): Snapshot => ({ entryFile: files[0]?.path ?? "", files, stdin: "" });
const file = (content: string, more: Partial<SourceFile> = {}): SourceFile => ({ path: "main.py", content, ...more });

test("kept edits never replace what the author has locked since", () => {
  const kept = snapshotOf(file("old\nmine\nold end", { locked: "1,3-" }), { path: "own.py", content: "own" });
  const own = { path: "own.py", content: "own" };
  const cases: [SourceFile[], SourceFile[]][] = [
    [[file("new\nnewer\nyours\nend", { locked: "1-2,4-" })], [file("new\nnewer\nmine\nend", { locked: "1-2,4-" }), own]],
    // The free line before the first part was deleted, or is new.
    [[file("free\nnew\nyours\nend", { locked: "2,4-" })], [file("free\nnew\nmine\nend", { locked: "2,4-" }), own]],
    // Other parts are locked: they do not fit together.
    [[file("new\nyours", { locked: "1" })], [file("new\nyours", { locked: "1" }), own]],
    [[file("all", { locked: true })], [file("all", { locked: true }), own]],
    [[file("free now")], [file("old\nmine\nold end"), own]],
    [[file("yours"), { path: "own.py", content: "theirs", hidden: true }], [
      file("old\nmine\nold end"), { path: "own.py", content: "theirs", hidden: true },
    ]],
    // The name is a folder's now.
    [[file("yours"), { path: "own.py/x", content: "", locked: true }], [
      file("old\nmine\nold end"), { path: "own.py/x", content: "", locked: true },
    ]],
  ];
  for (const [start, after] of cases) {
    expect(inProgram(kept, snapshotOf(...start)).files, JSON.stringify(start)).toEqual(after);
  }
  const removed = snapshotOf(file("mine"), { path: "check.py", content: "", hidden: true });
  expect(inProgram(removed, snapshotOf(file("yours"))).files).toEqual([file("mine")]);
});

test("restrictions are checked", () => {
  const read = (more: object) => readSnapshot({ files: [{ path: "a", content: "" }, { content: CODE, path: "b", ...more }] }, "a");
  const specs = ["", "a", "1;2", "-3", "1-2-3", "1e3", "99999999", "1,", "1\n", "1".padEnd(1001)].map((locked) => ({ locked }));
  for (const wrong of [{ hidden: 1 }, { locked: 1 }, ...specs]) {
    expect(read(wrong).fault, JSON.stringify(wrong)).toMatch(/^"b": (hidden|locked) /);
  }
  expect(read({ locked: "1 - 3,5" }).value?.files[1]).toEqual({ path: "b", content: CODE, locked: "1 - 3,5" });
  expect(read({ locked: true }).value?.files[1]).toEqual({ path: "b", content: CODE, locked: true });
  expect(read({ locked: false, hidden: false }).value?.files[1]).toEqual({ path: "b", content: CODE });
  expect(readSnapshot({ files: [{ content: "", hidden: true }] }, "a").fault).toMatch(/must not be hidden/);
});
