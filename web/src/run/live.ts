// Runs that are answered while they go on, by server-sent events: the server says
// when a run leaves the queue, and a live run takes input meanwhile. Loaded when it
// is first used.

import { Event } from "../event";
import { t } from "../messages";
import { isRecord } from "../store/snapshot";
import {
  lost, parsed, programOf, refusal, unreadable,
  type Answer, type CrashPlace, type Exit, type RunRequest, type RunResult,
} from "./client";
import { frameworkAt, takesFrameworks } from "./framework";
import { artifactOf, leftIn, type Artifact } from "./left";
import { isResults, RESULTS_FILES, resultsIn } from "./query-results";
import { ServerEvents } from "./server-events";

export interface Output {
  stream: "stdout" | "stderr";
  text: string;
}

/** The server says that it has no live run left. */
const TAKEN = /live runs? (?:is|are) taken/;
/** The message of a run that its person stopped, who knows that. */
const STOPPED = "Stopped";
/** Parts of a text that fit into one request each, in which a character takes six bytes at most. */
const PARTS = /[^]{1,10000}/gu;
/** The wait until input is sent again that a program was not ready to read. */
const RETRY_MS = 1000;
/** The end for want of input is announced this long before, or half its time if that is shorter. */
const WARNING_MS = 30_000;

/** Text on its way to the program. */
export interface Typed {
  text: string;
  /** The reason if the program did not get it, else `null`. */
  fault: Promise<string | null>;
}

interface Waiting {
  text: string;
  end: boolean;
  settle: (fault: string | null) => void;
}

export class LiveRun {
  readonly id: string;
  readonly written = new Event<Output>();
  readonly typed = new Event<Typed>();
  readonly inputEnded = new Event<void>();
  private readonly idleMs: number;
  private readonly over: AbortSignal;
  private stage = "";
  /** The time of the last output or input. */
  private activeMs = performance.now();
  private takesInput = true;
  private isEnding = false;
  private waiting: Waiting[] = [];
  private isSending = false;

  /** The server ends it after `idleMs` without output and input. */
  constructor(id: string, idleMs: number, over: AbortSignal) {
    this.id = id;
    this.idleMs = idleMs;
    this.over = over;
  }

  /** The milliseconds until it is ended for want of input, if they are few, else `null`. */
  get endsInMs(): number | null {
    const leftMs = this.activeMs + this.idleMs - performance.now();
    return this.stage === "run" && leftMs <= Math.min(WARNING_MS, this.idleMs / 2) ? leftMs : null;
  }

  get isOpen(): boolean {
    return this.takesInput && !this.isEnding;
  }

  /** A step begins. */
  enter(stage: string): void {
    this.stage = stage;
    this.activeMs = performance.now();
  }

  write(output: Output): void {
    this.activeMs = performance.now();
    this.written.emit(output);
  }

  /** Sends this text to the program, after all that was sent before. Returns the reason if the program did not get it. */
  send(text: string): Promise<string | null> {
    const fault = this.queue(text, false);
    this.typed.emit({ text, fault });
    return fault;
  }

  /** Ends the input. Returns the reason if it goes on. */
  async end(): Promise<string | null> {
    this.isEnding = true;
    const fault = await this.queue("", true);
    this.isEnding = false;
    if (fault === null) this.close();
    return fault;
  }

  /** Takes no more input: it has ended, or the run has. */
  close(): void {
    if (!this.takesInput) return;
    this.takesInput = false;
    this.inputEnded.emit();
  }

  private queue(text: string, end: boolean): Promise<string | null> {
    return new Promise((settle) => {
      this.waiting.push({ text, end, settle });
      if (!this.isSending) void this.sendAll();
    });
  }

  /** One request at a time: the order of two is not certain. */
  private async sendAll(): Promise<void> {
    this.isSending = true;
    for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) {
      const fault = await this.deliver(next);
      next.settle(fault);
      // The program would take what was typed after it for an answer to the wrong question.
      if (fault !== null) for (const { settle } of this.waiting.splice(0)) settle(fault);
    }
    this.isSending = false;
  }

  private async deliver({ text, end }: Waiting): Promise<string | null> {
    for (const part of text.match(PARTS) ?? [""]) {
      const fault = await this.deliverPart(part, end);
      if (fault !== null) return fault;
    }
    return null;
  }

  private async deliverPart(text: string, end: boolean): Promise<string | null> {
    while (!this.over.aborted) {
      const fault = await this.post({ text, end });
      if (fault !== "again") return fault;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    return t("live.ended");
  }

  /** Returns the reason if it was not sent; "again" if it can be sent later. */
  private async post(input: { text: string; end: boolean }): Promise<string | null> {
    try {
      // It has its answer also if the program ends meanwhile, perhaps because of it.
      const { ok, status } = await fetch(`api/run/${this.id}/input`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(input),
      });
      if (ok) this.activeMs = performance.now();
      if (ok) return null;
      if (status === 503) return "again";
      if (status === 404) return t("live.ended");
      if (status === 413) return t("live.too-long");
      if (status === 429) return t("live.too-much");
      return t("live.refused", { status: String(status) });
    } catch {
      return t("live.lost");
    }
  }
}

/**
 * Runs the program; calls `begin` when it has its box, and `enter` when a step begins. Aborting closes the connection,
 * and the server ends the run.
 */
export async function runLive(
  request: RunRequest,
  signal: AbortSignal,
  begin: (live: LiveRun) => void,
  enter: (stage: string) => void,
): Promise<Answer> {
  const over = new AbortController();
  let live: LiveRun | null = null;
  try {
    const answer = await answerOf(request, signal, {
      isLive: true,
      begin: ({ run, limits }) => {
        if (typeof run !== "string" || live !== null) return;
        live = new LiveRun(run, idleMsOf(limits), over.signal);
        begin(live);
      },
      enter: (stage) => {
        live?.enter(stage);
        enter(stage);
      },
      write: (output) => live?.write(output),
    });
    return withoutLive(answer);
  } finally {
    over.abort();
    // The compiler does not see that `begin` may have set it.
    (live as LiveRun | null)?.close();
  }
}

/** Runs the program with the input that it has; calls `enter` when a step begins. */
export function runWithEvents(request: RunRequest, signal: AbortSignal, enter: (stage: string) => void): Promise<Answer> {
  return answerOf(request, signal, { isLive: false, enter });
}

interface AnswerOptions {
  isLive: boolean;
  /** The run has left the queue; gets the event. */
  begin?: (event: Readonly<Record<string, unknown>>) => void;
  /** A step begins. */
  enter: (stage: string) => void;
  write?: (output: Output) => void;
}

async function answerOf(request: RunRequest, signal: AbortSignal, options: AnswerOptions): Promise<Answer> {
  const { language, snapshot, artifacts, results, warnings, external, id } = request;
  const { isLive, begin, enter, write } = options;
  const result = new Result(request);
  try {
    const response = await fetch("api/run", {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "text/event-stream",
        ...(isLive ? {} : { "Sandpiper-Run": id }),
      },
      body: JSON.stringify({
        language,
        ...programOf(snapshot),
        ...(isLive ? { interactive: true } : {}),
        ...(artifacts || results ? { artifacts: artifacts || { paths: [RESULTS_FILES] } } : {}),
        ...(warnings ? { warnings } : {}),
        ...(external && takesFrameworks() ? { framework: "external" } : {}),
      }),
      signal,
    });
    if (!response.ok) return refusal(response, parsed(await response.text()));
    const isStream = response.headers.get("Content-Type")?.startsWith("text/event-stream") === true;
    if (!isStream || response.body === null) return unreadable(response);
    for await (const { name, data } of eventsOf(response.body)) {
      if (name === "begin") begin?.(data);
      if (name === "stage") enter(String(data["stage"]));
      if (name === "framework") {
        const text = await frameworkAt(data, signal);
        // Another server of several may have answered. This one sends all of it.
        if (text === null) return await answerOf({ ...request, external: false }, signal, options);
        result.add(text);
      }
      if (name === "error") return { kind: "refused", status: 500, message: "the run failed" };
      const ended = result.take(name, data, write);
      if (ended !== null) return ended;
    }
    return lost();
  } catch {
    return signal.aborted ? { kind: "stopped" } : lost();
  }
}

/** The result of a run, of which one event comes after the other. */
class Result {
  private readonly sinceMs = performance.now();
  /** When the step began, or before it the wait for a box. */
  private stepMs = this.sinceMs;
  private readonly timings: Record<string, number> = {};
  private readonly asked: Pick<RunRequest, "artifacts" | "results">;
  private readonly output = { stdout: "", stderr: "" };
  private readonly artifacts: Artifact[] = [];
  private isAtLineStart = true;
  private step: unknown = null;

  constructor(asked: Pick<RunRequest, "artifacts" | "results">) {
    this.asked = asked;
  }

  /** Takes an event. Returns the result with the last one. */
  take(name: string, data: Readonly<Record<string, unknown>>, write: AnswerOptions["write"]): RunResult | null {
    const { stream, text } = data;
    if (name === "begin") this.endStep("queue");
    // The compile step has ended.
    if (name === "stage" && data["stage"] === "run" && this.step === "compile") this.endStep("compile");
    if (name === "stage") this.step = data["stage"];
    if (name === "output" && (stream === "stdout" || stream === "stderr") && typeof text === "string") {
      this.write({ stream, text }, write);
    }
    const artifact = name === "artifact" ? artifactOf(data) : null;
    if (artifact !== null) this.artifacts.push(artifact);
    if (name !== "end") return null;
    const { stage, wall_ms: wallMs, message, warnings: said } = data;
    const exit: Exit = { stage: stage === "compile" ? "compile" : "run", ...exitOf(data["exit"]) };
    if (typeof message === "string" && message !== STOPPED) {
      this.write({ stream: "stderr", text: `${this.isAtLineStart ? "" : "\n"}${message}\n` }, write);
    }
    const timings = { ...this.timings, ...(typeof wallMs === "number" ? { [exit.stage]: wallMs } : {}) };
    const left = { ...leftIn(data), artifacts: this.artifacts };
    const elapsedMs = performance.now() - this.sinceMs;
    const warnings = typeof said === "string" ? { warnings: said } : {};
    const crash = crashIn(data["crash"]);
    const found = this.asked.results ? resultsIn(this.artifacts.find(isResults)) : null;
    const results = found === null ? {} : { results: found };
    const files = this.asked.artifacts ? { left } : {};
    return { kind: "ran", ...this.output, ...warnings, ...crash, ...results, ...files, exit, timings, elapsedMs };
  }

  /** Adds a part of stdout that came another way. */
  add(text: string): void {
    this.output.stdout += text;
  }

  private endStep(name: string): void {
    const now = performance.now();
    this.timings[name] = now - this.stepMs;
    this.stepMs = now;
  }

  private write(output: Output, write: AnswerOptions["write"]): void {
    this.output[output.stream] += output.text;
    this.isAtLineStart = output.text.endsWith("\n");
    write?.(output);
  }
}

function idleMsOf(limits: unknown): number {
  const idleMs = isRecord(limits) ? limits["idle_ms"] : null;
  return typeof idleMs === "number" ? idleMs : Infinity;
}

function crashIn(value: unknown): { crash?: CrashPlace } {
  if (!isRecord(value)) return {};
  const { path, line } = value;
  return typeof path === "string" && typeof line === "number" ? { crash: { path, line } } : {};
}

function exitOf(value: unknown): Omit<Exit, "stage"> {
  if (!isRecord(value)) return {};
  const { code, signal, limit, stopped } = value;
  return {
    ...(typeof code === "number" ? { code } : {}),
    ...(typeof signal === "string" ? { signal } : {}),
    ...(typeof limit === "string" ? { limit } : {}),
    ...(stopped === true ? { isStopped: true } : {}),
  };
}

/** Live runs have no queue: without a free one the person decides. */
function withoutLive(answer: Answer): Answer {
  const isTaken = answer.kind === "busy" && TAKEN.test(answer.message);
  return isTaken ? { ...answer, retryAfterMs: null, isLive: true } : answer;
}

async function* eventsOf(body: ReadableStream<Uint8Array>) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const events = new ServerEvents();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      for (const { name, data } of events.take(decoder.decode(value, { stream: true }))) {
        const object = parsed(data);
        if (object !== null) yield { name, data: object };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
