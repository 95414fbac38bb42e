// The console messages that a page sends, and the storage that it has in place of
// the one that an opaque origin lacks.

import { describe, expect, it } from "vitest";

import { ConsolePatch } from "../src/preview/patch";
import { MAX_AT_ONCE, MAX_ENTRIES, type FromFrame } from "../src/preview/protocol";
import { Recorder } from "../src/preview/recorder";
import { Jar, memoryStorage } from "../src/preview/shims";

function patched() {
  const sent: FromFrame[] = [];
  const native: unknown[][] = [];
  const recorder = new Recorder((message) => sent.push(message));
  const fake = { log: (...args: unknown[]) => native.push(args) } as unknown as Console;
  new ConsolePatch(recorder).apply(fake);
  const words = () =>
    sent.map((message) => {
      if (message.type !== "entry") return "count" in message ? `${message.type} ${message.count}` : message.type;
      const { level, values, depth } = message.entry;
      const said = values.map((one) => ("text" in one ? one.text : "name" in one ? one.name : ""));
      return `${level}${depth > 0 ? depth : ""}: ${said.join(" ")}`;
    });
  return { fake, recorder, native, words, sent };
}

describe("the console", () => {
  it("tells every call, and still calls the browser's", () => {
    const { fake, native, words, sent } = patched();
    fake.log("a", 1);
    fake.warn("%s!", "b");
    fake.assert(true, "no");
    fake.assert(false, "yes");
    fake.count();
    fake.count();
    fake.group("g");
    fake.info("in");
    fake.groupEnd();
    fake.table([{ a: 1 }]);
    fake.timeEnd("none");
    expect(native).toEqual([["a", 1]]);
    expect(words()).toEqual([
      "log: a 1", "warn: b!", "error: Assertion failed yes", "log: default: 1", "log: default: 2",
      "log: g", "info1: in", "log: Array(1)", "warn: There is no timer none",
    ]);
    const first = sent[0];
    expect(first?.type === "entry" && first.entry.stack).toContain("console-recorder");
  });

  it("sends a thousand entries and counts the rest", () => {
    const { fake, recorder, words } = patched();
    for (let line = 0; line < MAX_ENTRIES + 500; line += 1) fake.log(line);
    expect(words().length).toBe(MAX_ENTRIES);
    recorder.begin();
    expect(words().at(-1)).toBe("dropped 500");
    fake.clear();
    fake.log("again");
    expect(words().slice(-2)).toEqual(["clear", "log: again"]);
  });

  it("sends no more before it is asked again, also when it is cleared each time", () => {
    const { fake, recorder, words } = patched();
    const say = (count: number) => {
      for (let line = 0; line < count; line += 1) {
        fake.clear();
        fake.log(line);
      }
    };
    say(MAX_AT_ONCE);
    const sent = words().length;
    expect(sent).toBe(MAX_AT_ONCE);
    say(10);
    expect(words().length).toBe(sent);
    recorder.begin();
    expect(words().slice(sent)).toEqual(["clear", "dropped 1"]);
    say(1);
    expect(words().slice(sent + 2)).toEqual(["clear", "log: 0"]);
  });

  it("counts what repeats", () => {
    const { fake, recorder, words } = patched();
    for (let turn = 0; turn < 5; turn += 1) fake.log("tick");
    recorder.begin();
    recorder.begin();
    expect(words()).toEqual(["log: tick", "repeat 4"]);
    fake.log("tock");
    expect(words().at(-1)).toBe("log: tock");
  });
});

describe("storage in memory", () => {
  it("behaves as Storage", () => {
    const storage = memoryStorage() as Storage & Record<string, unknown>;
    storage.setItem("a", "1");
    storage["b"] = 2;
    expect([storage.length, storage.getItem("a"), storage["b"], storage.key(1)]).toEqual([2, "1", "2", "b"]);
    expect(Object.keys(storage)).toEqual(["a", "b"]);
    expect(JSON.stringify(storage)).toBe('{"a":"1","b":"2"}');
    expect(["a" in storage, "z" in storage]).toEqual([true, false]);
    expect([storage.getItem("z"), storage["z"]]).toEqual([null, undefined]);
    delete storage["a"];
    storage.removeItem("b");
    expect(storage.length).toBe(0);
    storage.setItem("length", "9");
    storage.clear();
    expect(storage.length).toBe(0);
  });

  it("keeps cookies", () => {
    const jar = new Jar();
    jar.add("a=1; path=/");
    jar.add("b=x=y");
    jar.add("a=2");
    expect(jar.text).toBe("a=2; b=x=y");
    jar.add("b=; max-age=0");
    jar.add("a=; expires=Thu, 01 Jan 1970 00:00:00 GMT");
    expect(jar.text).toBe("");
  });
});
