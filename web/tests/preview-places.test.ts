// Positions in a document, as places in the person's files.

import { describe, expect, it } from "vitest";

import { DocumentScripts, SourceMap, decodeVlq } from "../src/preview/maps";
import { insertionPoint } from "../src/preview/protocol";
import { Places, framesOf } from "../src/preview/stack";
import { HangMemory, MAX_SILENCE_MS, PING_MS, Watchdog } from "../src/preview/watchdog";

const URL_OF_FRAME = "http://h:1/p/embed/preview";

function comment(sources: (string | null)[], mappings: string): string {
  const json = JSON.stringify({ version: 3, sources, mappings });
  return `//# sourceMappingURL=data:application/json;base64,${btoa(json)}`;
}

describe("source maps", () => {
  it("have numbers of any size", () => {
    expect(decodeVlq("AAAA")).toEqual([0, 0, 0, 0]);
    expect(decodeVlq("CDEF")).toEqual([1, -1, 2, -2]);
    expect(decodeVlq("gBhBw+9B")).toEqual([16, -16, 31720]);
    expect(decodeVlq("!")).toEqual([]);
  });

  it("lead to the innermost segment before a position", () => {
    const map = new SourceMap(["a.js", "b.js"], "AAAA,IAEE;;ACDJ");
    expect(map.origin(0, 0)).toEqual({ file: "a.js", line: 1, column: 1 });
    expect(map.origin(0, 3)).toEqual({ file: "a.js", line: 1, column: 1 });
    expect(map.origin(0, 9)).toEqual({ file: "a.js", line: 3, column: 3 });
    expect(map.origin(1, 0)).toBeNull();
    expect(map.origin(2, 5)).toEqual({ file: "b.js", line: 2, column: -1 });
    expect(map.origin(9, 0)).toBeNull();
    expect(new SourceMap([null], "AAAA").origin(0, 0)).toBeNull();
  });
});

describe("a document's scripts", () => {
  const html = [
    "<!doctype html><title><script></title>",
    "<!-- <script>//x</script> --><style>a > b { content: '<script>' }</style>",
    `<p title="a>b"></p><script type="module" data-x='>'>one();`,
    "two();",
    comment(["my%20app.js"], "AAAA;AACA"),
    "</script>",
    "<script>three();</script>",
  ].join("\n");
  const scripts = new DocumentScripts(html);
  const column = (line: number, words: string) => (html.split("\n")[line - 1] ?? "").indexOf(words) + 1;

  it("are found, with their maps", () => {
    expect(scripts.origin(3, column(3, "one"))).toEqual({ file: "my app.js", line: 1, column: 1 });
    expect(scripts.origin(4, 1)).toEqual({ file: "my app.js", line: 2, column: 1 });
    expect(scripts.origin(7, column(7, "three"))).toBe("unmapped");
    expect(scripts.origin(2, 12)).toBe("unmapped");
    expect(scripts.origin(99, 1)).toBe("unknown");
  });

  it("do no harm when their map cannot be read", () => {
    const map = "//# sourceMappingURL=data:application/json;base64,%%%";
    const broken = new DocumentScripts(`<script>a();\n${map}\n</script>`);
    expect(broken.origin(1, 9)).toBe("unmapped");
    const open = new DocumentScripts("<script>a();");
    expect(open.origin(1, 9)).toBe("unmapped");
  });
});

describe("stacks", () => {
  const chromium = [
    "TypeError: x",
    "    at console.log (sandpiper-preview:1:2)",
    `    at tick (${URL_OF_FRAME}:1:9)`,
    `    at async ${URL_OF_FRAME}:2:3`,
    "    at new Tide (main%20a.js:4:5)",
    "    at eval (eval at f (x:1:1), <anonymous>:1:1)",
    "    at other.js:1:1",
  ].join("\n");
  const firefox = `tick@${URL_OF_FRAME}:1:9\n@${URL_OF_FRAME}:2:3\nTide@main%20a.js:4:5`;

  it("are read from every browser", () => {
    const names = framesOf(chromium).map(({ name, line, column }) => `${name} ${line}:${column}`);
    expect(names.slice(0, 3)).toEqual(["tick 1:9", " 2:3", "new Tide 4:5"]);
    expect(framesOf(firefox).map(({ name, line }) => `${name} ${line}`)).toEqual(["tick 1", " 2", "Tide 4"]);
  });

  it("are reported in the person's files", () => {
    const html = `<script>a();\n${comment(["App.jsx"], "AAEA")}\n</script>`;
    const sources = { entryFile: "App.jsx", paths: ["App.jsx", "main a.js"] };
    const places = new Places(new DocumentScripts(html), sources);
    places.begin(`${URL_OF_FRAME}#part`, 0);
    expect(places.own(chromium).map(({ place }) => place)).toEqual([
      { file: "App.jsx", line: 3, column: 1 }, { file: "main a.js", line: 4, column: 5 },
    ]);
    const page = new Places(new DocumentScripts("<script>a();</script>"), { entryFile: "index.html", paths: [] });
    page.begin(URL_OF_FRAME, 0);
    expect(page.own(`    at ${URL_OF_FRAME}:1:9`)[0]?.place).toEqual({ file: "index.html", line: 1, column: 9 });
    expect(page.own("")).toEqual([]);
  });
});

describe("our code in the page", () => {
  it("stands behind the doctype", () => {
    expect(insertionPoint("<!doctype html><p>")).toBe(15);
    expect(insertionPoint(" <!-- > -->\n<!DOCTYPE html PUBLIC 'x'>\n")).toBe(38);
    expect(insertionPoint("<p><!doctype html>")).toBe(0);
    expect(insertionPoint("")).toBe(0);
  });

  it("moves nothing but its own line", () => {
    const html = "<!doctype html><script>a();b();\nc();</script>";
    const scripts = new DocumentScripts(html, insertionPoint(html));
    const places = new Places(scripts, { entryFile: "index.html", paths: [] });
    places.begin(URL_OF_FRAME, 1000);
    const at = (line: number, column: number) => places.own(`    at ${URL_OF_FRAME}:${line}:${column}`)[0]?.place;
    expect(at(1, 1024)).toEqual({ file: "index.html", line: 1, column: 24 });
    expect(at(2, 1)).toEqual({ file: "index.html", line: 2, column: 1 });
  });
});

describe("the watchdog", () => {
  it("counts silence, not the editor's own pauses", () => {
    const watchdog = new Watchdog(0);
    let now = 0;
    const ticks = (count: number) => Array.from({ length: count }, () => watchdog.isSilent((now += PING_MS)));
    expect(ticks(4)).toEqual([false, false, false, false]);
    watchdog.answered();
    expect(ticks(4).includes(true)).toBe(false);
    now += 60_000;
    watchdog.answered();
    expect(watchdog.isSilent(now)).toBe(false);
    expect(ticks(MAX_SILENCE_MS / PING_MS).at(-1)).toBe(true);
    watchdog.answered();
    expect(watchdog.isSilent((now += PING_MS), false)).toBe(false);
  });

  it("remembers, if it can", () => {
    const kept = new Map<string, string>();
    const storage = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
    } as unknown as Storage;
    const memory = new HangMemory("web:page", () => storage);
    memory.set();
    expect([memory.isSet, new HangMemory("vue:page", () => storage).isSet]).toEqual([true, false]);
    memory.clear();
    expect(memory.isSet).toBe(false);
    const blocked = new HangMemory("web", () => { throw new Error("SecurityError"); });
    blocked.set();
    expect(blocked.isSet).toBe(false);
  });
});
