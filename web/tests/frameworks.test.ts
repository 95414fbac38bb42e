// The framework of a document, which comes apart from it.

import { afterEach, beforeEach, expect, test, vi } from "vitest";

const request = {
  language: "react",
  snapshot: { files: [{ path: "App.jsx", content: "" }], entryFile: "App.jsx", stdin: "" },
  id: "",
  artifacts: false, results: false, warnings: false, external: true,
};

const named = (path: string) => ["framework", { path, integrity: `sha256-${path}` }] as const;

/** An event stream of a document with these events in its middle. */
function answer(...middle: readonly (readonly [string, object])[]): Response {
  const output = (text: string) => ["output", { stream: "stdout", text }] as const;
  const end = ["end", { stage: "run", exit: { code: 0 }, message: null, wall_ms: 1, skipped: [] }] as const;
  const events = [["begin", { run: null }] as const, output("<b>"), ...middle, output("</b>"), end];
  const text = events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join("");
  return new Response(text, { headers: { "Content-Type": "text/event-stream" } });
}

/** Answers requests in turn; a request without an answer fails. Returns the addresses that were asked, and of runs what they ask for. */
function serve(...answers: readonly (Response | "lost")[]): string[] {
  const asked: string[] = [];
  const left = [...answers];
  vi.stubGlobal("fetch", async (url: string, { body, integrity }: { body?: string; integrity?: string }) => {
    asked.push(body === undefined ? `${url} ${integrity}` : `${url} ${String(JSON.parse(body).framework)}`);
    const next = left.shift();
    if (next === undefined || next === "lost") throw new TypeError("failed");
    return next;
  });
  return asked;
}

const framework = (text: string) => new Response(text);
let run = (_signal = new AbortController().signal): Promise<object> => Promise.reject(new Error("not loaded"));

beforeEach(async () => {
  // A page of its own.
  vi.resetModules();
  const { runWithEvents } = await import("../src/run/live");
  run = (signal = new AbortController().signal) => runWithEvents(request, signal, () => {});
});
afterEach(() => vi.unstubAllGlobals());

test("a framework is loaded once, and another one again", async () => {
  const asked = serve(
    answer(named("1.js")), framework("one"), answer(named("1.js")), answer(named("2.js")), framework("two"), answer(),
  );
  for (const stdout of ["<b>one</b>", "<b>one</b>", "<b>two</b>", "<b></b>"]) {
    expect(await run()).toMatchObject({ kind: "ran", stdout });
  }
  const external = "api/run external";
  expect(asked).toEqual([external, "1.js sha256-1.js", external, external, "2.js sha256-2.js", external]);
});

test.each<[string, readonly (readonly [string, object])[], readonly (Response | "lost")[]]>([
  ["is not there", [named("1.js")], [new Response("not found", { status: 404 })]],
  ["is lost, or changed on the way", [named("1.js")], ["lost"]],
  ["has no address", [["framework", {}]], []],
])("if it %s, the program is run again, and runs have it in them from then on", async (_, middle, answers) => {
  const asked = serve(answer(...middle), ...answers, answer(), answer());
  expect(await run()).toMatchObject({ kind: "ran", stdout: "<b></b>" });
  expect(await run()).toMatchObject({ kind: "ran", stdout: "<b></b>" });
  expect(asked.filter((one) => one.startsWith("api/run"))).toEqual([
    "api/run external", "api/run undefined", "api/run undefined",
  ]);
});

test("a run that is stopped meanwhile is not run again", async () => {
  const stop = new AbortController();
  const asked = serve(answer(named("1.js")));
  const fetched = fetch;
  vi.stubGlobal("fetch", async (url: string, options: RequestInit) => {
    if (url === "1.js") stop.abort();
    return fetched(url, options);
  });
  expect(await run(stop.signal)).toEqual({ kind: "stopped" });
  expect(asked).toHaveLength(2);
});
