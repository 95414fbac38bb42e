// Values of console calls: limited, and read without running code of the page.

import { describe, expect, it } from "vitest";

import { allowedStyles } from "../src/preview/css";
import { formatted, tabled } from "../src/preview/format";
import { MAX_CHARACTERS, MAX_DEPTH, MAX_KEYS, readMessage, type Value } from "../src/preview/protocol";
import { Serialiser } from "../src/preview/serialise";

const value = (given: unknown) => new Serialiser().value(given);
const plain = (kind: string, text: string) => ({ type: "plain", kind, text });
const textOf = (one: Value) =>
  one.type === "object" ? one.name : one.type === "styled" ? one.parts.map(({ text }) => text).join("") : one.text;
const words = (values: Value[]) => values.map(textOf).join(" ");

describe("values", () => {
  it("are reported by kind", () => {
    expect(value("a")).toEqual({ type: "string", text: "a" });
    expect(value(-0)).toEqual(plain("number", "-0"));
    expect(value(10n)).toEqual(plain("number", "10n"));
    expect(value(null)).toEqual(plain("nothing", "null"));
    expect(value(undefined)).toEqual(plain("nothing", "undefined"));
    expect(value(Symbol("s"))).toEqual(plain("symbol", "Symbol(s)"));
    expect(value(/a\/b/g)).toEqual(plain("symbol", "/a\\/b/g"));
    expect(value(new Date(0))).toEqual(plain("number", "1970-01-01T00:00:00.000Z"));
    expect(value(new Date(Number.NaN))).toEqual(plain("number", "Invalid Date"));
    expect(value(function add() {})).toEqual(plain("function", "ƒ add()"));
    expect(value(class Tide {})).toEqual(plain("function", "class Tide"));
  });

  it("have their members", () => {
    class Point {
      x = 1;
    }
    expect(value(new Point())).toEqual({
      type: "object", name: "Point", items: [{ key: "x", value: plain("number", "1") }], more: 0,
    });
    expect(value(["a"])).toMatchObject({ name: "Array(1)", items: [{ key: "0", value: { text: "a" } }] });
    expect(value(new Map([["k", 1]]))).toMatchObject({ name: "Map(1)", items: [{ key: "k" }] });
    expect(value(new Set([7]))).toMatchObject({ name: "Set(1)", items: [{ key: "0", value: { text: "7" } }] });
    expect(value(Object.create(null))).toMatchObject({ name: "Object", items: [] });
    expect(value({ [Symbol("s")]: 1 })).toMatchObject({ items: [{ key: "Symbol(s)" }] });
    expect(value(new Uint8Array([5]))).toMatchObject({ name: "Uint8Array(1)", items: [{ key: "0" }] });
  });

  it("of errors have a stack", () => {
    const error = value(new TypeError("no"));
    expect(error).toMatchObject({ type: "error", text: "TypeError: no" });
    expect(error.type === "error" && error.stack.includes("console-values")).toBe(true);
  });

  it("call no getter and survive traps", () => {
    let called = false;
    const trapped = { get boom() { return (called = true); } };
    expect(value(trapped)).toMatchObject({ items: [{ key: "boom", value: plain("getter", "(getter)") }] });
    expect(called).toBe(false);
    const proxy = new Proxy({}, { ownKeys() { throw new Error("trap"); } });
    expect(value({ proxy })).toMatchObject({ items: [{ value: plain("cut", "(cannot be shown)") }] });
  });

  it("are bounded", () => {
    const loop: Record<string, unknown> = {};
    loop["me"] = loop;
    expect(value(loop)).toMatchObject({ items: [{ value: plain("cut", "Object (contains itself)") }] });
    let deep: unknown = 0;
    for (let level = 0; level < 50; level += 1) deep = { deep };
    expect(JSON.stringify(value(deep)).split('"deep"').length - 1).toBe(MAX_DEPTH);
    expect(value(Array.from({ length: 300 }, () => 0))).toMatchObject({ name: "Array(300)", more: 300 - MAX_KEYS });
    expect(JSON.stringify(value("x".repeat(1e6))).length).toBeLessThan(MAX_CHARACTERS + 100);
    const wide = Array.from({ length: 90 }, () => Array.from({ length: 90 }, () => "y".repeat(200)));
    expect(JSON.stringify(value(wide)).length).toBeLessThan(3 * MAX_CHARACTERS);
  });
});

describe("formats", () => {
  it("are filled", () => {
    expect(words(formatted(["a", 1]))).toBe("a 1");
    expect(words(formatted(["%s is %d", "x", "4.7", "more"]))).toBe("x is 4 more");
    expect(words(formatted(["%cred%c 100%% %f", "color: red", "", "1.5"]))).toBe("red 100% 1.5");
    expect(formatted(["a%cb%cc", "color: red", ""])).toEqual([
      { type: "styled", parts: [{ text: "a", style: "" }, { text: "b", style: "color: red" }, { text: "c", style: "" }] },
    ]);
    expect(formatted(["got %o", { a: 1 }])[1]).toMatchObject({ type: "object" });
    expect(words(formatted(["%s %s", 1]))).toBe("1 %s");
    expect(words(formatted(["100%"]))).toBe("100%");
    expect(words(formatted(["%d", Symbol("s")]))).toBe("NaN");
  });

  it("make tables", () => {
    expect(tabled([{ a: 1, b: "x" }, { b: 2 }], undefined)).toEqual({
      columns: ["(index)", "a", "b"], rows: [["0", "1", "x"], ["1", "", "2"]],
    });
    expect(tabled(["p", "q"], undefined)).toEqual({ columns: ["(index)", "Value"], rows: [["0", "p"], ["1", "q"]] });
    expect(tabled([{ a: 1, b: 2 }], ["b"])).toEqual({ columns: ["(index)", "b"], rows: [["0", "2"]] });
    expect(tabled(5, undefined)).toBeNull();
  });
});

describe("styles", () => {
  it.each<[css: string, allowed: string]>([
    ["color: red; background: #ff0; font-weight: bold", "color: red; background-color: #ff0; font-weight: bold"],
    ["COLOR:rgb(1, 2, 3); font-style: italic; text-decoration: underline", "color: rgb(1, 2, 3); font-style: italic; text-decoration-line: underline"],
    ["font-size: 20px", "font-size: clamp(8px, 20px, 32px)"],
    ["background: url(//x.example/)", ""],
    ["background: red url(x)", ""],
    ["color: var(--page)", ""],
    ["color: env(x); background-color: image-set('x' 1x)", ""],
    ["color: red !important", ""],
    ["position: fixed; inset: 0; display: none; content: 'x'; padding: 99px", ""],
    ["font-size: calc(1px * 9999); font-weight: 9999", ""],
    ["constructor: red; : red; color", ""],
  ])("of %j are %j", (css, allowed) => {
    expect(allowedStyles(css).map((one) => one.join(": ")).join("; ")).toBe(allowed);
  });
});

describe("messages", () => {
  const values = formatted(["a", { b: [1] }, new Error("c")]);
  const entry = { level: "log", values, depth: 0, table: null, stack: "", isUncaught: false };

  it("are taken as they are made", () => {
    expect(readMessage({ type: "entry", entry })).toEqual({ type: "entry", entry });
    expect(readMessage({ type: "pong" })).toEqual({ type: "pong" });
    expect(readMessage({ type: "repeat", count: 3 })).toEqual({ type: "repeat", count: 3 });
    expect(readMessage({ type: "leave", isBackwards: 1 })).toEqual({ type: "leave", isBackwards: false });
    const table = tabled(Array.from({ length: 500 }, (_, a) => ({ a })), undefined);
    expect(readMessage({ type: "entry", entry: { ...entry, table } })).not.toBeNull();
  });

  it("are refused when they are anything else", () => {
    for (const other of [
      null, 5, "pong", [], {}, { type: "x" }, { type: "repeat", count: -1 }, { type: "repeat", count: "3" },
      { type: "written", url: 5 }, { type: "entry" }, { type: "entry", entry: { ...entry, level: "loud" } },
      { type: "entry", entry: { ...entry, values: [{ type: "object", name: "a", items: [{}], more: 0 }] } },
      { type: "entry", entry: { ...entry, values: [{ type: "plain", kind: "x", text: "" }] } },
      { type: "entry", entry: { ...entry, table: { columns: ["a"], rows: [[{}]] } } },
      { type: "entry", entry: { ...entry, values: [{ type: "styled", parts: [{ text: "", style: 1 }] }] } },
      { type: "entry", entry: { ...entry, values: [{ type: "styled", parts: [{ text: "", style: "x".repeat(999) }] }] } },
      { type: "entry", entry: { ...entry, isUncaught: "yes" } },
      { type: "entry", entry: { ...entry, stack: "x".repeat(100_000) } },
      { type: "entry", entry: { ...entry, values: Array(9).fill({ type: "text", text: "x".repeat(9999) }) } },
      { type: "entry", entry: { ...entry, table: { columns: ["a"], rows: Array(90).fill(["x".repeat(999)]) } } },
    ]) {
      expect(readMessage(other), JSON.stringify(other)?.slice(0, 200)).toBeNull();
    }
  });

  it("are taken at their largest", () => {
    const wide = Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => ["", "", { "": "" }]));
    const long = "x".repeat(99_999);
    const rows = Array.from({ length: 500 }, () => Object.fromEntries([..."abcdefghijklmnopqrst"].map((k) => [k, long])));
    for (const said of [wide, long, rows, new Map([[long, wide]])]) {
      const largest = { ...entry, values: formatted([said, said]), table: tabled(said, undefined) };
      expect(readMessage({ type: "entry", entry: largest })).not.toBeNull();
    }
  });
});
