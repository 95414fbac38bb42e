// The end of a live run, as its person reads it.

import { afterEach, expect, test, vi } from "vitest";

import { LiveRun, runLive } from "../src/run/live";

afterEach(() => vi.unstubAllGlobals());

const request = {
  language: "python",
  snapshot: { files: [{ path: "main.py", content: "" }], entryFile: "main.py", stdin: "" },
  id: "",
  artifacts: false, results: false, warnings: false, external: false,
};

/** A run that prints `a` and then ends so; `run` is its id. */
const answer = (run: string, exit: object, message: string | null) =>
  stream(run, ["end", { stage: "run", exit, message, wall_ms: 1, skipped: [] }]);

function stream(run: string, last: [string, object]): Response {
  const events = [["begin", { run }], ["output", { stream: "stdout", text: "a" }], last];
  const text = events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join("");
  return new Response(text, { headers: { "Content-Type": "text/event-stream" } });
}

test.each([
  [{ code: 0 }, null, ""],
  [{ limit: "idle" }, "Nobody typed for 60 s", "\nNobody typed for 60 s\n"],
  [{ stopped: true }, "The server stopped", "\nThe server stopped\n"],
  // The person who stopped it knows that.
  [{ stopped: true }, "Stopped", ""],
])("%j with %j", async (exit, message, stderr) => {
  vi.stubGlobal("fetch", () => Promise.resolve(answer("0".repeat(32), exit, message)));
  const end = await runLive(request, new AbortController().signal, () => {}, () => {});
  expect(end).toMatchObject({ kind: "ran", stdout: "a", stderr });
});

test("a run that the service fails is no result", async () => {
  const failed = stream("0".repeat(32), ["error", { error: "internal error" }]);
  vi.stubGlobal("fetch", () => Promise.resolve(failed));
  const end = await runLive(request, new AbortController().signal, () => {}, () => {});
  expect(end).toEqual({ kind: "refused", status: 500, message: "the run failed" });
});

test("input goes to the id of the run, with the tag of its node", async () => {
  const asked: string[] = [];
  const id = `n1-${"0".repeat(32)}`;
  vi.stubGlobal("fetch", (url: string) => {
    asked.push(url);
    return Promise.resolve(url === "api/run" ? answer(id, { code: 0 }, null) : new Response(null, { status: 204 }));
  });
  await runLive(request, new AbortController().signal, (live) => void live.send("b\n"), () => {});
  expect(asked).toEqual(["api/run", `api/run/${id}/input`]);
});

test.each<[string, number | "lost" | "over", string | null]>([
  ["is taken", 204, null],
  ["is lost on the way", "lost", "Not sent: the connection was lost."],
  ["is too long", 413, "Not sent: the line is too long."],
  ["is too much", 429, "Not sent: this program got too much input."],
  ["meets a fault", 500, "Not sent: the service answered 500."],
  ["comes after the end", 404, "Not sent: the program has ended."],
  ["waits at the end", "over", "Not sent: the program has ended."],
])("text that %s", async (_, status, expected) => {
  const over = new AbortController();
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (_: string, { body }: { body: string }) => {
    asked.push(JSON.parse(body).text);
    if (status === "lost") throw new TypeError("failed");
    if (status !== "over") return new Response(null, { status });
    over.abort();
    return new Response(null, { status: 204 });
  });
  const live = new LiveRun("0", 60_000, over.signal);
  const faults = Promise.all([live.send("a\n"), live.send("b\n"), live.end()]);
  // Nothing follows the end, unless that fails.
  expect(live.isOpen).toBe(false);
  expect(await faults).toEqual([status === "over" ? null : expected, expected, expected]);
  expect(live.isOpen).toBe(expected !== null);
  // A text that was typed later would be the answer to another question.
  expect(asked).toEqual(status === 204 ? ["a\n", "b\n", ""] : ["a\n"]);
});

test("a long text is sent in parts that a request has room for", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (_: string, { body }: { body: string }) => {
    expect(body.length).toBeLessThan(64 << 10);
    asked.push(JSON.parse(body).text);
    return new Response(null, { status: 204 });
  });
  const live = new LiveRun("0", 60_000, new AbortController().signal);
  const text = `${"😀".repeat(9_999)}\u0001`.repeat(3);
  expect(await live.send(text)).toBeNull();
  expect(await live.end()).toBeNull();
  expect(asked.join("")).toBe(text);
  expect(asked.length).toBe(4);
});

test("the end for want of input is near half a minute before, or half of a shorter time", () => {
  vi.useFakeTimers();
  const check = (idleMs: number, leftMs: readonly (number | null)[]) => {
    const live = new LiveRun("0", idleMs, new AbortController().signal);
    const after = (ms: number) => (vi.advanceTimersByTime(ms), live.endsInMs);
    live.enter("compile");
    const found = [after(idleMs)];
    live.enter("run");
    found.push(after(idleMs / 4), after(idleMs / 2));
    live.write({ stream: "stdout", text: "a" });
    expect([...found, live.endsInMs]).toEqual([null, null, ...leftMs, null]);
  };
  check(60_000, [15_000]);
  check(10_000, [2500]);
  check(200_000, [null]);
  vi.useRealTimers();
});
