// The Run button, which is Stop while something runs, and the status
// meanwhile.

import { byId } from "../dom";
import { t, type Key } from "../messages";
import type { OutputPanel } from "../output/panel";
import type { LiveRun } from "./live";
import type { CurrentRun, Phase } from "./current-run";
import { endsIn, running, waiting } from "./words";

const LABELS: Readonly<Record<Phase["name"], Key>> = {
  idle: "page.run", running: "page.stop", stopping: "page.stop", waiting: "run.cancel",
};

export class RunButton {
  private readonly button = byId("run");
  private readonly label = byId("run-label");
  private readonly output: OutputPanel;
  private ticker: ReturnType<typeof setInterval> | undefined;
  private live: LiveRun | null = null;

  constructor(currentRun: CurrentRun, output: OutputPanel) {
    this.output = output;
    this.button.addEventListener("click", () => {
      if (currentRun.isBusy) currentRun.stop();
      else void currentRun.start();
    });
    currentRun.phaseChanged.listen((phase) => this.follow(phase));
    currentRun.wentLive.listen(({ live }) => (this.live = live));
  }

  private follow(phase: Phase): void {
    clearInterval(this.ticker);
    if (phase.name !== "running") this.live = null;
    this.button.classList.toggle("busy", phase.name !== "idle");
    this.label.textContent = t(LABELS[phase.name]);
    if (phase.name === "idle") return;
    if (phase.name === "stopping") return this.output.say(t("run.stopping"), "running");
    const words = () =>
      phase.name === "running"
        ? running(performance.now() - phase.sinceMs, phase.state)
        : waiting(phase.untilMs - performance.now(), phase.reason);
    const isWaiting = phase.name === "waiting" || phase.state === "queued";
    this.output.say(words(), isWaiting ? "queued" : "running");
    let isWarned = false;
    const refresh = () => {
      const leftMs = this.live?.endsInMs ?? null;
      if (leftMs === null) this.output.tick(words());
      else if (isWarned) this.output.tick(endsIn(leftMs, this.live?.isOpen === true));
      else this.output.say(endsIn(leftMs, this.live?.isOpen === true), "running");
      isWarned = leftMs !== null;
    };
    this.ticker = setInterval(refresh, 500);
  }
}
