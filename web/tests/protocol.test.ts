// The messages of the embedding page: whose are accepted, the effect of each
// command, and that hostile ones have none.

import { expect, test, vi } from "vitest";

import { Bridge, isFromParent, originOf } from "../src/parent/bridge";
import { readHostRequest, report, tellsChanges } from "../src/parent/onecompiler";
import { PreviewNews, answerTo, readCommand, runEnd, type Controls } from "../src/parent/protocol";
import type { Answer } from "../src/run/client";
import type { Artifact } from "../src/run/left";
import type { Snapshot } from "../src/workspace";
import { names } from "./definitions";

const snapshot: Snapshot = {
  entryFile: "main.py",
  files: [
    { path: "main.py", content: "print(1)" },
    { path: "lib/a.py", content: "" },
  ],
  stdin: "7",
};

const file: Artifact = { path: "a.txt", type: "text/plain", size: 1, encoding: "utf8", content: "a" };

function controls() {
  return {
    snapshot: vi.fn(() => snapshot),
    starter: vi.fn(() => snapshot),
    replace: vi.fn(),
    setStdin: vi.fn(),
    setExpected: vi.fn(),
    run: vi.fn(() => 3),
    stop: vi.fn(),
    setTheme: vi.fn(),
    setReadOnly: vi.fn(),
    reset: vi.fn(),
    focus: vi.fn(),
    markLines: vi.fn(),
    setDiagnostics: vi.fn(),
    share: vi.fn(() => Promise.resolve("https://x/embed?lang=python#code=a")),
    input: vi.fn(() => Promise.resolve(null)),
    endInput: vi.fn(() => Promise.resolve("Not sent.")),
    artifact: vi.fn((path: string) => (path === "a.txt" ? file : null)),
  } satisfies Controls;
}

const ours = (type: string, payload?: unknown, id: unknown = 1) => ({ app: "sandpiper", v: 1, id, type, payload });

async function ask(type: string, payload?: unknown, page = controls()) {
  const command = readCommand(ours(type, payload));
  if (command === null) throw new Error("not a command");
  return { answer: (await answerTo(command, page)) as Record<string, unknown>, page };
}

test("each command has its effect and is answered", async () => {
  const run = await ask("run");
  expect(run.answer).toEqual({ app: "sandpiper", v: 1, id: 1, ok: true, payload: { run: 3 } });
  expect((await ask("getFiles")).answer["payload"]).toEqual(snapshot);
  expect((await ask("share")).answer["payload"]).toEqual({ url: "https://x/embed?lang=python#code=a" });
  for (const type of ["stop", "reset", "focus"] as const) {
    const { answer, page } = await ask(type);
    expect(answer).toMatchObject({ ok: true, payload: null });
    expect(page[type]).toHaveBeenCalledOnce();
  }
  expect((await ask("setStdin", { stdin: "a\n" })).page.setStdin).toHaveBeenCalledWith("a\n");
  expect((await ask("setExpected", { expected: "a" })).page.setExpected).toHaveBeenCalledWith("a");
  expect((await ask("setExpected", { expected: null })).page.setExpected).toHaveBeenCalledWith(null);
  expect((await ask("setTheme", { theme: "dark" })).page.setTheme).toHaveBeenCalledWith("dark");
  expect((await ask("setReadOnly", { readonly: true })).page.setReadOnly).toHaveBeenCalledWith(true);
  expect((await ask("markLines", { lines: [2, 3] })).page.markLines).toHaveBeenCalledWith("main.py", [2, 3]);
});

test("a live run gets input, and files of the last run are given", async () => {
  const { answer, page } = await ask("input", { text: "Ann\n" });
  expect(answer).toMatchObject({ ok: true, payload: null });
  expect(page.input).toHaveBeenCalledWith("Ann\n");
  expect((await ask("input", { text: 1 })).answer).toMatchObject({ ok: false, error: "text must be a string." });
  expect((await ask("endInput")).answer).toMatchObject({ ok: false, error: "Not sent." });
  expect((await ask("getArtifact", { path: "a.txt" })).answer["payload"]).toEqual({ content: "a", encoding: "utf8" });
  expect((await ask("getArtifact", { path: "b" })).answer).toMatchObject({ ok: false });
});

test("setFiles keeps the input by default, and knows the usual entry", async () => {
  const { page } = await ask("setFiles", { files: [{ content: "x = 1" }] });
  const files = [{ path: "main.py", content: "x = 1" }];
  expect(page.replace).toHaveBeenCalledWith({ entryFile: "main.py", files, stdin: "" }, false);
});

test("diagnostics belong to files", async () => {
  const diagnostics = [
    { line: 1, message: "Well done", severity: "warning", extra: 1 },
    { path: "lib/a.py", line: 2, column: 5, message: "No" },
  ];
  const { page } = await ask("setDiagnostics", { diagnostics });
  expect(page.setDiagnostics).toHaveBeenCalledWith([
    { path: "main.py", line: 1, column: 0, severity: "warning", message: "Well done" },
    { path: "lib/a.py", line: 2, column: 5, severity: "error", message: "No" },
  ]);
});

test("a wrong command is answered with the reason, and has no effect", async () => {
  const wrong: [string, unknown, RegExp][] = [
    ["setFiles", null, /at least one file/],
    ["setFiles", { files: [{ path: "../../etc/passwd", content: "" }] }, /cannot be \. or \.\./],
    ["setFiles", { files: [{ path: "a", content: {} }] }, /content, a string/],
    ["setStdin", { stdin: 5 }, /stdin must be a string/],
    ["setTheme", { theme: "url(javascript:1)" }, /auto, light or dark/],
    ["setReadOnly", { readonly: "false" }, /true or false/],
    ["markLines", { lines: [0] }, /line numbers/],
    ["markLines", { lines: [1], path: "other.py" }, /the path of a file/],
    ["setDiagnostics", { diagnostics: [{ line: 1 }] }, /message must be a string/],
    ["setDiagnostics", { diagnostics: Array(1001).fill({ line: 1, message: "" }) }, /must be a list/],
    ["constructor", {}, /The commands are setFiles, getFiles/],
    ["__proto__", {}, /The commands are/],
  ];
  for (const [type, payload, words] of wrong) {
    const { answer, page } = await ask(type, payload);
    expect(answer, type).toMatchObject({ id: 1, ok: false, error: expect.stringMatching(words) as string });
    const { snapshot: _, starter: __, ...acts } = page;
    for (const act of Object.values(acts)) expect(act, type).not.toHaveBeenCalled();
  }
});

test("messages of other protocols are ignored, other versions are refused", async () => {
  for (const data of [null, 1, "run", [], {}, { type: "run" }, { app: "x", type: "run" }, { app: "sandpiper" }]) {
    expect(readCommand(data), JSON.stringify(data)).toBeNull();
  }
  const command = readCommand({ ...ours("run"), v: 2 });
  expect(command && (await answerTo(command, controls()))).toMatchObject({ error: "This page supports version 1." });
  expect(readCommand(ours("run", 0, {}))?.id).toBeNull();
});

test("a failing control reveals nothing", async () => {
  const page = controls();
  page.share.mockRejectedValue(new Error("secret"));
  expect((await ask("share", {}, page)).answer["error"]).toBe("The command failed.");
});

test("only messages of the parent, from the named origin, are accepted", () => {
  const parent = {} as MessageEventSource;
  const check = (source: unknown, origin: string, named: string | null) =>
    isFromParent({ source: source as MessageEventSource, origin }, parent, originOf(named));
  expect(check(parent, "https://a.example", null)).toBe(true);
  expect(check(parent, "https://a.example", "https://a.example")).toBe(true);
  expect(check(parent, "https://a.example", "https://a.example:443/page/")).toBe(true);
  expect(check(parent, "https://b.example", "https://a.example")).toBe(false);
  expect(check(parent, "http://a.example", "https://a.example")).toBe(false);
  expect(check({}, "https://a.example", null)).toBe(false);
  expect(check(parent, "null", "null")).toBe(false);
  expect(check(parent, "null", "data:text/html,x")).toBe(false);
  expect(check(parent, "https://a.example", "nonsense")).toBe(false);
});

function framed(parentOrigin: string | null = null) {
  const sent: { message: unknown; origin: unknown }[] = [];
  const parent = { postMessage: (message: unknown, origin: unknown) => void sent.push({ message, origin }) };
  let listener: (event: MessageEvent) => void = () => undefined;
  const onOther = vi.fn();
  const page = controls();
  const bridge = new Bridge({
    surroundings: { parent: parent as Window, addEventListener: (_, given) => (listener = given) },
    parentOrigin,
    controls: page,
    about: { language: "python" },
    onOther,
  });
  const tell = (data: unknown, ports: MessagePort[] = [], source: unknown = parent, origin = "https://a.example") =>
    listener({ data, ports, source, origin } as unknown as MessageEvent);
  return { sent, page, bridge, onOther, tell };
}

test("the parent gets ready, and answers to its commands", async () => {
  const { sent, tell, page, onOther } = framed("https://a.example/");
  const ready = { app: "sandpiper", v: 1, type: "ready", payload: { language: "python" } };
  expect(sent).toEqual([{ message: ready, origin: "https://a.example" }]);
  tell(ours("run", {}, "first"));
  await vi.waitFor(() => expect(sent.length).toBe(2));
  expect(sent[1]).toMatchObject({ message: { id: "first", ok: true }, origin: "https://a.example" });
  tell(ours("run"), [], {});
  tell(ours("run"), [], undefined, "https://b.example");
  expect(page.run).toHaveBeenCalledOnce();
  expect(onOther).not.toHaveBeenCalled();
  tell({ eventType: "triggerRun" });
  expect(onOther).toHaveBeenCalledWith({ eventType: "triggerRun" });
});

test("a page that connects late gets the height again", () => {
  const { sent, tell, bridge } = framed("https://a.example/");
  const types = () => sent.map(({ message }) => (message as { type: string }).type);
  tell(ours("connect"));
  expect(types()).toEqual(["ready", "ready"]);
  bridge.emit("resize", { height: 300 });
  bridge.emit("resize", { height: 400 });
  tell(ours("connect"));
  expect(types()).toEqual(["ready", "ready", "resize", "resize", "ready", "resize"]);
  expect(sent.at(-1)).toMatchObject({ message: { payload: { height: 400 } } });
});

test("with an invalid parentOrigin nothing is received or sent", () => {
  const { sent, tell, page } = framed("null");
  tell(ours("run"), [], undefined, "null");
  expect(sent).toEqual([]);
  expect(page.run).not.toHaveBeenCalled();
});

test("once connected, all messages use the port", async () => {
  const { sent, bridge, tell } = framed();
  const { port1, port2 } = new MessageChannel();
  const got: unknown[] = [];
  port1.onmessage = (event) => void got.push(event.data);
  tell(ours("connect"), [port2]);
  port1.postMessage(ours("getFiles"));
  bridge.emit("theme", { theme: "dark" });
  await vi.waitFor(() => expect(got.length).toBe(3));
  expect(got).toMatchObject([{ type: "ready" }, { type: "theme" }, { id: 1, ok: true, payload: snapshot }]);
  expect(sent.length).toBe(1);
  port1.close();
});

test("a command without an id that fails is an error event", async () => {
  const { sent, tell } = framed();
  tell(ours("dance", {}, null));
  await vi.waitFor(() => expect(sent.length).toBe(2));
  expect(sent[1]).toMatchObject({ message: { type: "error" }, origin: "*" });
});

const ran: Answer = {
  kind: "ran",
  stdout: "1\n",
  stderr: "no",
  exit: { stage: "run", code: 1 },
  timings: { run: 5 },
  elapsedMs: 12.6,
};

test("the end of a run is reported completely", () => {
  expect(runEnd(1, ran)).toEqual({
    run: 1,
    ran: true,
    stage: "run",
    exit: 1,
    signal: null,
    limit: null,
    ms: 13,
    timings: { run: 5 },
    stdout: "1\n",
    stderr: "no",
    truncated: false,
  });
  expect(runEnd(2, { ...ran, exit: { stage: "run", limit: "output" } })).toMatchObject({ truncated: true });
  const left = { artifacts: [file], skipped: [] };
  expect(runEnd(2, { ...ran, exit: { stage: "run", isStopped: true }, left })).toMatchObject({
    ran: true, exit: null, stopped: true, artifacts: [{ path: "a.txt", type: "text/plain", size: 1 }],
  });
  expect(runEnd(3, { kind: "lost", isOffline: false })).toEqual({ run: 3, ran: false, reason: "lost", message: "" });
});

test("messages of a preview are reported, at a limited rate", () => {
  const reported: [string, Record<string, unknown>][] = [];
  const news = new PreviewNews((type, payload) => void reported.push([type, payload as Record<string, unknown>]));
  const place = { file: "main.js", line: 3, column: 5 };
  const said = { level: "warn", text: "a", isUncaught: false, place } as const;
  news.report(1, said, 0);
  news.report(1, { ...said, level: "error", isUncaught: true, place: null, text: "x".repeat(9999) }, 0);
  expect(reported).toEqual([
    ["preview:console", { run: 1, level: "warn", text: "a", file: "main.js", line: 3, column: 5, leftOut: 0 }],
    ["preview:error", { run: 1, text: "x".repeat(2000), file: null, line: null, column: null, leftOut: 0 }],
  ]);
  for (let count = 0; count < 1000; count += 1) news.report(1, said, 500);
  expect(reported.length).toBe(100);
  news.report(1, said, 1000);
  expect(reported.at(-1)?.[1]).toMatchObject({ leftOut: 902 });
  for (let count = 0; count < 1000; count += 1) news.report(1, said, 1000);
  news.report(2, said, 1001);
  expect(reported.at(-1)?.[1]).toMatchObject({ run: 2, leftOut: 0 });
});

test("OneCompiler's messages are understood", () => {
  const read = (data: unknown) => readHostRequest(data, { language: "python", names }, snapshot);
  const populate = (language: string, name: unknown = "main.py") =>
    read({ eventType: "populateCode", language, files: [{ name, content: "x" }] });
  const files = [{ path: "main.py", content: "x" }];
  const expected = { kind: "populate", snapshot: { value: { entryFile: "main.py", files, stdin: "7" }, fault: null }, hasInput: false };
  for (const language of ["python", "python3", "Python", "pypy"]) expect(populate(language)).toEqual(expected);
  expect(populate("java")).toMatchObject({ snapshot: { fault: "This page runs python, not java." } });
  expect(populate("python", "../x")).toMatchObject({ snapshot: { value: null } });
  expect(read({ eventType: "populateCode" })).toMatchObject({ snapshot: { value: null } });
  expect(read({ eventType: "triggerRun" })).toEqual({ kind: "run" });
  for (const data of [null, "triggerRun", {}, { eventType: "other" }]) expect(read(data)).toBeNull();
});

test("OneCompiler's pages get reports in its format, if they ask", () => {
  expect(tellsChanges("?lang=c&codeChangeEvent=true")).toBe(true);
  expect(tellsChanges("?lang=c&listenToEvents=true")).toBe(true);
  expect(tellsChanges("?lang=c&listenToEvents=false")).toBe(false);
  const files = [
    { name: "main.py", content: "print(1)" },
    { name: "lib/a.py", content: "" },
  ];
  const change = { _id: "a", language: "python", files, stdin: "7", result: null, action: "change" };
  expect(report("a", "python", snapshot, null)).toEqual(change);
  const result = { success: false, output: "1\n", stdout: "1\n", stderr: "no", exception: null, executionTime: 13 };
  expect(report("a", "python", snapshot, ran)).toMatchObject({ action: "runComplete", result });
});
