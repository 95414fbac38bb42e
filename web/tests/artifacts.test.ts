// Programs leave and write these: files, tables, recordings and events. Programs
// choose all of it, so everything that is not as it should be is left out.

import { describe, expect, test } from "vitest";

import { readCsv } from "../src/output/csv";
import { bytesOf, leftIn, textOf } from "../src/run/left";
import { ServerEvents } from "../src/run/server-events";
import { Picture } from "../src/turtle/picture";
import { readRecording } from "../src/turtle/recording";
import { checkLinear, repeated } from "./linear";

describe("CSV", () => {
  test.each([
    ["lines", "a,b\n1,2\n", ["a", "b"], [["1", "2"]]],
    ["no end of the last line", "a\r\n1", ["a"], [["1"]]],
    ["quotes", 'a,b\n"x, ""y""\nz",2\n', ["a", "b"], [['x, "y"\nz', "2"]]],
    ["rows of other lengths", "a,b\n1\n1,2,3\n", ["a", "b", ""], [["1", "", ""], ["1", "2", "3"]]],
    ["empty cells at the end", "a,b\n1,\n,", ["a", "b"], [["1", ""], ["", ""]]],
    ["a formula and markup", "a\n=cmd|' /C calc'!A0\n<b>\n", ["a"], [["=cmd|' /C calc'!A0"], ["<b>"]]],
    ["a quote that is not closed", 'a\n"b\nc', ["a"], [["b\nc"]]],
    ["a mark of the byte order", "\ufeffa\n1\n", ["a"], [["1"]]],
  ])("%s", (_, text, columns, rows) => {
    expect(readCsv(text, ",")).toMatchObject({ columns, rows });
  });
  test("tabs; numbers to the right", () => {
    const read = { columns: ["a", "b"], rows: [["1e3", "1,5"]], isNumeric: [true, false], count: 1 };
    expect(readCsv("a\tb\n1e3\t1,5\n", "\t")).toEqual(read);
  });
  test("no columns, or too many, are no table", () => {
    expect(readCsv("", ",")).toBeNull();
    expect(readCsv(",".repeat(500), ",")).toBeNull();
    expect(readCsv(`a\n${",".repeat(500)}`, ",")).toBeNull();
  });
  test("of many rows, those that can be shown, and the number of all", () => {
    const many = readCsv(`a\n${"1\n".repeat(600)}x,2\n`, ",");
    expect(many).toMatchObject({ columns: ["a"], isNumeric: [true], count: 601 });
    expect(many?.rows).toEqual(Array(500).fill(["1"]));
  });
  const read = (text: string) => readCsv(text, ",");
  for (const part of ["a,b\n", '"', '""', "\n", "\r"]) checkLinear(JSON.stringify(part), read, repeated(part));
  checkLinear("digits", read, repeated("1", "a\n", "x"));
});

describe("a recording", () => {
  const recording = (segments: readonly unknown[], more: object = {}) =>
    readRecording(JSON.stringify({ width: 100, height: 50, duration: 90, truncated: false, segments, ...more }));
  const segments = [
    [0, "view", -50, -25],
    [0, "background", "#ffffff"],
    [10, "line", 1, 1, 2, "#0000ff", [0, 0]],
    [20, "extend", 1, [10, 10]],
    [30, "dot", 2, 2, 5, "#ff0000", 1, 2],
    [30, "polygon", 3, 3, 1, "", "#00ff00", [0, 0, 1, 1, 2, 0]],
    [40, "text", 4, 4, "italic bold 16px serif", "#000000", "center", 0, 0, "a\nb"],
    [50, "remove", 2],
  ];

  test("is read as it is written", () => {
    expect(recording(segments)?.segments).toHaveLength(segments.length);
    expect(recording([])).toEqual({ width: 100, height: 50, durationMs: 90, segments: [] });
  });

  test.each<[string, unknown]>([
    ["no list", { 0: 0, 1: "remove" }],
    ["an unknown word", [0, "script", 1]],
    ["a time that goes back", [-1, "remove", 1]],
    ["a time after the end", [91, "remove", 1]],
    ["a color with more in it", [0, "background", "#ffffff;x"]],
    ["a color's name", [0, "background", "red"]],
    ["a color's address", [0, "line", 1, 1, 1, "url(http://x.example)", [0, 0]]],
    ["no color of a line", [0, "line", 1, 1, 1, "", [0, 0]]],
    ["half a point", [0, "line", 1, 1, 1, "#000000", [0, 0, 1]]],
    ["no point", [0, "extend", 1, []]],
    ["a text as number", [0, "extend", 1, ["0", "0"]]],
    ["a number that is too large", [0, "view", 1e9, 0]],
    ["a negative width", [0, "dot", 1, 1, -1, "#000000", 0, 0]],
    ["a font from elsewhere", [0, "text", 1, 1, "16px url(x)", "#000000", "left", 0, 0, "a"]],
    ["another alignment", [0, "text", 1, 1, "16px serif", "#000000", "start", 0, 0, "a"]],
    ["a text that is none", [0, "text", 1, 1, "16px serif", "#000000", "left", 0, 0, {}]],
  ])("leaves out %s", (_, segment) => {
    expect(recording([segment])?.segments).toEqual([]);
    expect(recording([segment, ...segments])?.segments).toHaveLength(segments.length);
  });

  test.each<[string, string]>([
    ["no JSON", "{"],
    ["a list", "[]"],
    ["no size", JSON.stringify({ duration: 1, segments: [] })],
    ["a large size", JSON.stringify({ width: 5000, height: 1, duration: 1, segments: [] })],
    ["no end", JSON.stringify({ width: 1, height: 1, duration: null, segments: [] })],
    ["too many segments", JSON.stringify({ width: 1, height: 1, duration: 1, segments: Array(20_001).fill(0) })],
  ])("is none: %s", (_, text) => expect(readRecording(text)).toBeNull());

  test("is drawn as it stands at any time, in the order of the layers", () => {
    const read = recording(segments);
    if (read === null) throw new Error("not read");
    const picture = new Picture(read);
    const drawn = (ms: number) => {
      picture.go(ms);
      const calls: string[] = [];
      const note = (name: string) => (...values: unknown[]) => void calls.push([name, ...values].join(" "));
      const context = new Proxy({}, { get: (_, name) => note(String(name)), set: () => true });
      picture.draw(context as CanvasRenderingContext2D, 1);
      return calls.filter((call) => /^(?:lineTo|arc|fillText)/.test(call));
    };
    expect(drawn(15)).toEqual(["lineTo 0 0"]);
    expect(drawn(25)).toEqual(["lineTo 0 0", "lineTo 10 10"]);
    const end = drawn(90);
    expect(end).toEqual([
      "lineTo 0 0", "lineTo 10 10", "lineTo 0 0", "lineTo 1 1", "lineTo 2 0",
      expect.stringMatching(/^fillText a 0 -19\.2/), "fillText b 0 0",
    ]);
    expect(drawn(35)).toContainEqual(expect.stringMatching(/^arc 1 2 2\.5/));
    // Again from the beginning: nothing has been extended twice.
    expect(drawn(15)).toEqual(["lineTo 0 0"]);
    expect(drawn(90)).toEqual(end);
  });
});

test("files of an answer: those that are not as they should be are left out", () => {
  const file = { path: "a.bin", type: "application/octet-stream", size: 2, encoding: "base64", content: "/wA=" };
  const wrong = [null, 1, {}, { ...file, path: 1 }, { ...file, encoding: "hex" }, { ...file, size: "2" }];
  const shown = { ...file, display: 1 };
  const skipped = [{ path: "b", reason: "too-large" }, { path: "c" }, null];
  const left = leftIn({ artifacts: [...wrong, file, shown], skipped });
  expect(left).toEqual({ artifacts: [file, shown], skipped: [skipped[0]] });
  expect(leftIn(null)).toEqual({ artifacts: [], skipped: [] });
  expect([...bytesOf(left.artifacts[0]!)]).toEqual([255, 0]);
});

test.each<[string, string, string | null]>([
  ["text/plain", "G1szMW1yZWQbWzBtDA==", "\u001b[31mred\u001b[0m\f"],
  ["text/csv", "77u/YQHDsQ==", "\ufeffa\u0001\u00f1"],
  ["application/json", "IgAi", '"\0"'],
  ["application/x-ipynb+json", "Ag==", "\u0002"],
  ["text/plain", "/w==", null],
  ["text/plain", "?", null],
  ["application/octet-stream", "YQE=", null],
])("base64 of %s, %s, is %j as text", (type, content, expected) => {
  const file = { path: "a", type, size: 1, content };
  expect(textOf({ ...file, encoding: "base64" })).toBe(expected);
  expect(textOf({ ...file, encoding: "utf8" })).toBe(content);
});

test("events are read from any pieces; what a program wrote begins none", () => {
  const data = JSON.stringify({ text: "\n\nevent: end\ndata: {}\n\n\u2028" });
  const stream = `:\n\nevent: output\ndata: ${data}\n\n: ping\n\nevent: end\ndata: {}\n\nevent: end`;
  const wanted = [{ name: "output", data }, { name: "end", data: "{}" }];
  for (let at = 0; at <= stream.length; at += 1) {
    const events = new ServerEvents();
    expect([...events.take(stream.slice(0, at)), ...events.take(stream.slice(at))], `cut at ${at}`).toEqual(wanted);
  }
});
