// The run that is going on, if any: started, stopped, tried again when the
// service asks to wait.

import { Event } from "../event";
import type { Workspace } from "../workspace";
import { run, type Answer } from "./client";

export type Phase =
  | { name: "idle" }
  /** Sent; `sinceMs` as performance.now() has it. */
  | { name: "running"; sinceMs: number }
  /** Too many requests from this address: sent again at `untilMs`. */
  | { name: "waiting"; untilMs: number };

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

  /** Runs what is in the workspace now; one that is going on is ended. */
  async start(): Promise<void> {
    this.stop();
    const abort = new AbortController();
    this.abort = abort;
    const snapshot = this.workspace.snapshot();
    this.started.emit();
    for (;;) {
      this.enter({ name: "running", sinceMs: performance.now() });
      const answer = await run(this.language, snapshot, abort.signal);
      if (this.abort !== abort) return;
      if (answer.kind !== "limited") return this.end(answer);
      // Pages behind one address were all told the same second: they spread.
      const waitMs = answer.retryAfterMs + Math.random() * 2000;
      this.enter({ name: "waiting", untilMs: performance.now() + waitMs });
      await sleep(waitMs, abort.signal);
      if (this.abort !== abort) return;
    }
  }

  /** Ends the run on the server too: it sees the connection close. */
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
