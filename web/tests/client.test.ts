// The answers to a run, of the service and of servers in between, in plain words.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { run } from "../src/run/client";
import { pauseAfter } from "../src/run/retry";
import { summary } from "../src/run/words";

const request = { language: "python", snapshot: { entryFile: "m.py", files: [], stdin: "" }, id: "a" };

/** The answer to a run when this is what comes. */
function answerTo(response: () => Promise<Response>, signal = new AbortController().signal) {
  vi.stubGlobal("fetch", response);
  return run(request, signal);
}

beforeEach(() => void vi.stubGlobal("navigator", { onLine: true }));
afterEach(() => vi.unstubAllGlobals());

const PAGE = "<html><body><h1>No</h1><script>alert(1)</script></body></html>";
const html = (status: number, body: string | null = PAGE) => () =>
  Promise.resolve(new Response(body, { status, headers: { "Content-Type": "text/html" } }));
const json = (status: number, body: string) => () =>
  Promise.resolve(new Response(body, { status, headers: { "Content-Type": "application/json" } }));
/** The connection is closed after the first part of an answer. */
const cut = () => {
  const parts = ['{"stdout":"half of'];
  const pull = (stream: ReadableStreamDefaultController<Uint8Array>) => {
    const part = parts.shift();
    if (part === undefined) stream.error(new TypeError("network error"));
    else stream.enqueue(new TextEncoder().encode(part));
  };
  const body = new ReadableStream<Uint8Array>({ pull });
  return Promise.resolve(new Response(body, { headers: { "Content-Type": "application/json" } }));
};
const closed = () => Promise.reject(new TypeError("Failed to fetch"));

/** e2e/busy.spec.ts has those that depend on the browser. */
const SHAPES: readonly (readonly [string, () => Promise<Response>, RegExp])[] = [
  ["a bad request", json(400, '{"error":"entryFile must be a string"}'), /^Not run: entryFile must be a string\.$/],
  ["a failure of the service", json(500, '{"error":"internal error"}'), /failed \(500\)\. Your code is still here/],
  ["a failure with no body", html(500, null), /answered 500\. Your code is still here/],
  ["a proxy's 404", html(404), /there is no service at this address \(404\)/],
  ["a proxy's 403", html(403), /your network blocks the service \(403\)/],
  ["a proxy's 413", html(413), /^Not run: your files are too large\.$/],
  ["a proxy's 502", html(502), /the service did not answer \(502\)\. Your code is still here/],
  ["a proxy's 503", html(503), /^Not run: the service is busy\. Try again in a moment\.$/],
  ["a proxy's 504", html(504), /the service did not answer \(504\)/],
  ["a language that cannot run", json(503, '{"error":"Python cannot run here"}'), /^Not run: Python cannot run here\./],
  ["a page to log in", html(200), /Do you have to log in to your network\?/],
  ["JSON of another kind", json(200, "[]"), /^The connection was lost\. Your code is still here/],
  ["an answer cut off", cut, /^The connection was lost\. Your code is still here/],
  ["an answer that ends too soon", json(200, '{"stdout":"half of'), /^The connection was lost\./],
  ["a connection that is closed", closed, /^The connection was lost\. Your code is still here/],
];

test.each(SHAPES)("%s", async (_, response, words) => {
  const answer = await answerTo(response);
  expect(summary(answer)).toMatch(words);
  // Nobody waits for what would come again.
  expect(pauseAfter(answer, 0, 0)).toBeNull();
});

test("a network that is gone", async () => {
  vi.stubGlobal("navigator", { onLine: false });
  expect(summary(await answerTo(closed))).toMatch(/^You are offline\. Your code is still here/);
});

test("a person who stops reads nothing of a lost connection", async () => {
  expect(await answerTo(closed, AbortSignal.abort())).toEqual({ kind: "stopped" });
});

test("a run", async () => {
  const headers = { "Sandpiper-Exit": "stage=run; code=3", "Server-Timing": "queue;dur=0.1, run;dur=12.5" };
  const answer = await answerTo(() => Promise.resolve(Response.json({ stdout: "a", stderr: "b" }, { headers })));
  expect(answer).toMatchObject({
    kind: "ran", stdout: "a", stderr: "b", exit: { stage: "run", code: 3 }, timings: { queue: 0.1, run: 12.5 },
  });
});

describe("a run that must wait", () => {
  const waiting = (status: number, error: string, seconds: string) => () =>
    Promise.resolve(Response.json({ error }, { status, headers: { "Retry-After": seconds } }));
  test.each<[string, () => Promise<Response>, object]>([
    ["a full queue", waiting(503, "too many runs are waiting already", "7"), {
      kind: "busy", message: "too many runs are waiting already", retryAfterMs: 7000,
    }],
    ["a language that is being prepared", waiting(503, "Python is being prepared: 2 of 3", "10"), {
      kind: "busy", message: "Python is being prepared: 2 of 3", retryAfterMs: 10_000,
    }],
    ["a proxy's limit", waiting(429, "slow down", "30"), { kind: "limited", retryAfterMs: 30_000 }],
    ["a limit whose time is a date", waiting(429, "", "Fri, 31 Dec 1999 23:59:59 GMT"), {
      kind: "limited", retryAfterMs: null,
    }],
  ])("%s", async (_, response, expected) => {
    expect(await answerTo(response)).toEqual(expected);
  });
});
