// The Run button, which is Stop while something runs, and the status
// meanwhile.

import { byId } from "../dom";
import type { OutputPanel } from "../output/panel";
import type { Phase, Session } from "./session";
import { running, waiting } from "./words";

export class RunButton {
  private readonly button = byId("run");
  private readonly label = byId("run-label");
  private readonly output: OutputPanel;
  private ticker: ReturnType<typeof setInterval> | undefined;

  constructor(session: Session, output: OutputPanel) {
    this.output = output;
    this.button.addEventListener("click", () => {
      if (session.isBusy) session.stop();
      else void session.start();
    });
    session.phaseChanged.listen((phase) => this.follow(phase));
  }

  private follow(phase: Phase): void {
    clearInterval(this.ticker);
    this.button.classList.toggle("busy", phase.name !== "idle");
    this.label.textContent = { idle: "Run", running: "Stop", stopping: "Stop", waiting: "Cancel" }[phase.name];
    if (phase.name === "idle") return;
    if (phase.name === "stopping") return this.output.say("Stopping…");
    const words = () =>
      phase.name === "running"
        ? running(performance.now() - phase.sinceMs, phase.isLive)
        : waiting(phase.untilMs - performance.now(), phase.reason);
    this.output.say(words());
    this.ticker = setInterval(() => this.output.tick(words()), 500);
  }
}
