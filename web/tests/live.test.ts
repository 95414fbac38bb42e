// The end of a live run, as its person reads it.

import { afterEach, expect, test, vi } from "vitest";

import { runLive } from "../src/run/live";

afterEach(() => vi.unstubAllGlobals());

const request = {
  language: "python",
  snapshot: { files: [{ path: "main.py", content: "" }], entryFile: "main.py", stdin: "" },
  id: "",
  artifacts: false,
};

/** A run that prints `a` and then ends so; `run` is its id. */
function answer(run: string, exit: object, message: string | null): Response {
  const events = [
    ["begin", { run }],
    ["output", { stream: "stdout", text: "a" }],
    ["end", { stage: "run", exit, message, wall_ms: 1, skipped: [] }],
  ];
  const text = events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join("");
  return new Response(text, { headers: { "Content-Type": "text/event-stream" } });
}

test.each([
  [{ code: 0 }, null, ""],
  [{ limit: "idle" }, "Nobody typed for 60 s", "\nNobody typed for 60 s\n"],
  [{ stopped: true }, "The server stopped", "\nThe server stopped\n"],
  // Whoever stopped it knows that.
  [{ stopped: true }, "Stopped", ""],
])("%j with %j", async (exit, message, stderr) => {
  vi.stubGlobal("fetch", () => Promise.resolve(answer("0".repeat(32), exit, message)));
  const end = await runLive(request, new AbortController().signal, () => {});
  expect(end).toMatchObject({ kind: "ran", stdout: "a", stderr });
});

test("input goes to the id of the run, with the tag of its node", async () => {
  const asked: string[] = [];
  const id = `n1-${"0".repeat(32)}`;
  vi.stubGlobal("fetch", (url: string) => {
    asked.push(url);
    return Promise.resolve(url === "api/run" ? answer(id, { code: 0 }, null) : new Response(null, { status: 204 }));
  });
  await runLive(request, new AbortController().signal, (live) => live.send("b\n"));
  expect(asked).toEqual(["api/run", `api/run/${id}/input`]);
});
