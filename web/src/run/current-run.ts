// The run that is going on, if any: started, stopped, and sent again if the
// service asks to wait.

import { Event } from "../event";
import { Later } from "../later";
import type { Dialogue } from "../output/dialogue";
import type { Snapshot, Workspace } from "../workspace";
import { lost, randomId, run, stop, type Answer, type RunRequest } from "./client";
import type { LiveRun } from "./live";
import { pauseAfter, type Pause } from "./retry";

export type Phase =
  | { name: "idle" }
  /** In the queue, or running, since `sinceMs`, by performance.now(). */
  | { name: "running"; sinceMs: number; state: RunState }
  /** A person has stopped it; the answer is to come. */
  | { name: "stopping" }
  /** Sent again at `untilMs`. */
  | { name: "waiting"; untilMs: number; reason: Pause["reason"] };

/** The progress of a run. `unknown`: the server says it only with the result. */
export type RunState = "unknown" | "queued" | "compiling" | "running";

/** The kind of a run. */
export interface Mode {
  /** Is answered by an event stream, which has its stages. */
  hasEvents: boolean;
  /** Returns the files that the program leaves. */
  artifacts: boolean;
  /** Returns the results of its statements. */
  results: boolean;
  /** Returns the warnings of a compiler that succeeded. */
  warnings: boolean;
  /** Loads the framework of its document apart, once for all runs. */
  external: boolean;
  /** Shows output as it comes, and takes input meanwhile. */
  live: boolean;
}

/** A live run, and the view of it, which was loaded with it. */
export interface LiveStart {
  live: LiveRun;
  view: typeof Dialogue;
}

const events = new Later(() => import("./live"));
const dialogues = new Later(() => import("../output/dialogue"));

/** A run that was stopped is answered within this time, or given up. Its answer may be large, and the network slow. */
const MAX_STOP_MS = 10_000;

export class CurrentRun {
  readonly phaseChanged = new Event<Phase>();
  readonly started = new Event<Mode>();
  /** A live run has its box. */
  readonly wentLive = new Event<LiveStart>();
  readonly ended = new Event<Answer>();

  private phase: Phase = { name: "idle" };
  private abort: AbortController | null = null;
  /** The id that stops the run; `null` if it cannot be stopped yet, or is being stopped. */
  private stopId: string | null = null;
  private readonly language: string;
  private readonly workspace: Workspace;
  private readonly modeOf: (snapshot: Snapshot) => Mode;

  constructor(language: string, workspace: Workspace, modeOf: (snapshot: Snapshot) => Mode) {
    this.language = language;
    this.workspace = workspace;
    this.modeOf = modeOf;
  }

  get isBusy(): boolean {
    return this.phase.name !== "idle";
  }

  /** Runs the files as they are now; a run that is going on is ended. */
  async start(): Promise<void> {
    this.giveUp();
    const abort = new AbortController();
    this.abort = abort;
    const { language } = this;
    const snapshot = this.workspace.snapshot();
    const mode = this.modeOf(snapshot);
    const { artifacts, results, warnings, external, live } = mode;
    this.started.emit(mode);
    for (let refusals = 0; ; refusals++) {
      // A live run never waits in the queue.
      this.goOn(live ? "running" : mode.hasEvents ? "queued" : "unknown");
      const request = { language, snapshot, id: randomId(), artifacts, results, warnings, external };
      if (!live) this.stopId = request.id;
      const answer = await this.send(request, mode, abort);
      if (this.abort !== abort) return;
      this.stopId = null;
      const pause = pauseAfter(answer, refusals, Math.random());
      if (pause === null) return this.end(answer);
      const { waitMs, reason } = pause;
      this.enter({ name: "waiting", untilMs: performance.now() + waitMs, reason });
      await sleep(waitMs, abort.signal);
      if (this.abort !== abort) return;
    }
  }

  /** Stops the run; the answer has the output until then. At the second call, or without an answer, it is given up. */
  stop(): void {
    const { abort, stopId } = this;
    if (abort === null || stopId === null) return this.giveUp();
    this.stopId = null;
    this.enter({ name: "stopping" });
    const giveUp = () => {
      if (this.abort === abort) this.giveUp();
    };
    const timer = setTimeout(giveUp, MAX_STOP_MS);
    abort.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
    void stop(stopId).then((isDone) => isDone || giveUp());
  }

  /** Ends the run without its output, also on the server, which sees the connection close. */
  private giveUp(): void {
    if (this.abort !== null) this.end({ kind: "stopped" });
  }

  private async send(request: RunRequest, { live, hasEvents }: Mode, abort: AbortController): Promise<Answer> {
    if (!live && !hasEvents) return run(request, abort.signal);
    const view = live ? dialogues.get() : null;
    const parts = await Promise.all([events.get(), view]).catch(() => null);
    if (parts === null) return lost();
    const [{ runLive, runWithEvents }, dialogue] = parts;
    const begun = (act: () => void) => {
      // A run that is being stopped stays so.
      if (this.abort === abort && this.phase.name === "running") act();
    };
    const enter = (stage: string) => begun(() => this.goOn(stage === "compile" ? "compiling" : "running"));
    if (dialogue === null) return runWithEvents(request, abort.signal, enter);
    const goLive = (run: LiveRun) =>
      begun(() => {
        this.stopId = run.id;
        this.wentLive.emit({ live: run, view: dialogue.Dialogue });
      });
    return runLive(request, abort.signal, goLive, enter);
  }

  private goOn(state: RunState): void {
    if (this.phase.name === "running" && this.phase.state === state) return;
    this.enter({ name: "running", sinceMs: performance.now(), state });
  }

  private end(answer: Answer): void {
    const { abort } = this;
    this.abort = null;
    this.stopId = null;
    this.enter({ name: "idle" });
    this.ended.emit(answer);
    abort?.abort();
  }

  private enter(phase: Phase): void {
    this.phase = phase;
    this.phaseChanged.emit(phase);
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
