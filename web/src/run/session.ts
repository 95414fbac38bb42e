// The run that is going on, if any: started, stopped, and sent again if the
// service asks to wait.

import { Event } from "../event";
import type { Workspace } from "../workspace";
import { run, type Answer } from "./client";
import { pauseAfter, type Pause } from "./patience";

export type Phase =
  | { name: "idle" }
  /** Sent at `sinceMs`, by performance.now(). */
  | { name: "running"; sinceMs: number }
  /** Sent again at `untilMs`. */
  | { name: "waiting"; untilMs: number; reason: Pause["reason"] };

export class Session {
  readonly phaseChanged = new Event<Phase>();
  readonly started = new Event<void>();
  readonly ended = new Event<Answer>();

  private phase: Phase = { name: "idle" };
  private abort: AbortController | null = null;
  private readonly language: string;
  private readonly workspace: Workspace;

  constructor(language: string, workspace: Workspace) {
    this.language = language;
    this.workspace = workspace;
  }

  get isBusy(): boolean {
    return this.phase.name !== "idle";
  }

  /** Runs the files as they are now; a run that is going on is ended. */
  async start(): Promise<void> {
    this.stop();
    const abort = new AbortController();
    this.abort = abort;
    const snapshot = this.workspace.snapshot();
    this.started.emit();
    for (let refusals = 0; ; refusals++) {
      this.enter({ name: "running", sinceMs: performance.now() });
      const answer = await run(this.language, snapshot, abort.signal);
      if (this.abort !== abort) return;
      const pause = pauseAfter(answer, refusals, Math.random());
      if (pause === null) return this.end(answer);
      const { waitMs, reason } = pause;
      this.enter({ name: "waiting", untilMs: performance.now() + waitMs, reason });
      await sleep(waitMs, abort.signal);
      if (this.abort !== abort) return;
    }
  }

  /** Ends the run, also on the server, which sees the connection close. */
  stop(): void {
    if (this.abort === null) return;
    const abort = this.abort;
    this.end({ kind: "stopped" });
    abort.abort();
  }

  private end(answer: Answer): void {
    this.abort = null;
    this.enter({ name: "idle" });
    this.ended.emit(answer);
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
