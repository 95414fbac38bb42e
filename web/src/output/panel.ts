// The output of a run, and how it ended.

import { byId, element } from "../dom";
import { Event } from "../event";
import type { Answer, RunResult } from "../run/client";
import { stages, summary } from "../run/words";
import { copied } from "../share/clipboard";
import { download } from "../share/download";
import { plainText } from "./ansi";
import type { Dialogue } from "./dialogue";
import { button, flash, text, type Renderer } from "./render";

export type { Renderer } from "./render";

export class OutputPanel {
  private readonly streams = byId("streams");
  private readonly status = byId("status");
  private readonly alert = byId("alert");
  /** The text before the first run. */
  private readonly invitation = this.streams.querySelector(".invitation");
  private readonly times = element("details", { class: "times", hidden: true });
  private readonly tools = element("div", { class: "output-tools", role: "group", "aria-label": "Output tools" });
  private last: RunResult | null = null;
  private dialogue: Dialogue | null = null;
  /** The person has cleared the output. */
  readonly cleared = new Event<void>();
  /** Shows stdout; as text unless the kind of output has a better view. */
  renderStdout: Renderer = text;
  /** Shows stderr, with links to the lines that it names. */
  renderStderr: Renderer = text;

  /** Whether stdout is a document, which the preview shows. Then it is not copied or saved as text. */
  isDocument = false;

  constructor() {
    this.tools.hidden = true;
    const key = this.invitation?.querySelector("kbd");
    if (key && /Mac|iP/.test(navigator.platform)) key.textContent = "⌘";
    this.tools.append(this.wrapTool(), this.copyTool(), this.saveTool(), this.clearTool());
    this.status.after(element("div", { class: "output-bar" }, this.times, this.tools));
  }

  /** Clears the old output when a run begins. */
  begin(): void {
    this.clear();
    this.alert.textContent = "";
  }

  /** Shows a live run, until the next run. */
  converse(dialogue: Dialogue): void {
    this.dialogue = dialogue;
    this.streams.replaceChildren(dialogue.element);
  }

  show(answer: Answer): void {
    const words = summary(answer);
    const isFault = answer.kind !== "ran" && answer.kind !== "stopped";
    this.say(words);
    this.alert.textContent = isFault ? words : "";
    if (answer.kind === "ran") this.last = answer;
    this.tools.hidden = this.text() === "";
    if (answer.kind !== "ran") return;
    this.showTimes(answer);
    if (this.dialogue === null) this.showStreams(answer);
  }

  /** Adds a view of the files that the program left; `null` if there are none. */
  addFiles(files: HTMLElement | null): void {
    if (files !== null) this.streams.querySelector(".quiet")?.remove();
    else if (this.text() !== "") return;
    this.streams.append(files ?? element("p", { class: "quiet" }, "It left no files."));
  }

  private showStreams(answer: RunResult): void {
    this.streams.replaceChildren(
      ...(this.isDocument ? [] : stream("Output", "stdout", answer.stdout, this.renderStdout)),
      ...stream("Errors", "stderr", answer.stderr, this.renderStderr),
    );
    if (answer.stdout === "" && answer.stderr === "") {
      this.streams.append(element("p", { class: "quiet" }, "The program printed nothing."));
    }
  }

  /** Shows a status, which screen readers announce when the person is idle. */
  say(words: string): void {
    this.status.setAttribute("aria-live", "polite");
    if (words === this.status.textContent) return;
    this.status.textContent = words;
  }

  /** Shows a status whose seconds have changed, without an announcement. */
  tick(words: string): void {
    if (words === this.status.textContent) return;
    this.status.setAttribute("aria-live", "off");
    this.status.textContent = words;
  }

  clear(): void {
    this.last = null;
    this.dialogue = null;
    this.tools.hidden = true;
    this.times.hidden = true;
    this.times.open = false;
    this.streams.replaceChildren();
  }

  /** The text to copy: all of the output, also the hidden part, without colours. */
  text(): string {
    if (this.dialogue !== null) return this.dialogue.text();
    if (this.last === null) return "";
    const stdout = this.isDocument ? "" : plainText(this.last.stdout);
    const stderr = plainText(this.last.stderr);
    return stdout + (stdout === "" || stdout.endsWith("\n") ? "" : "\n") + stderr;
  }

  private showTimes(result: RunResult): void {
    const known = stages(result);
    this.times.hidden = known.length === 0;
    const list = element("dl");
    for (const { name, time } of known) list.append(element("dt", {}, name), element("dd", {}, time));
    this.times.replaceChildren(element("summary", {}, "Times"), list);
  }

  private wrapTool(): HTMLButtonElement {
    const made = button("Wrap", "Break long lines");
    made.setAttribute("aria-pressed", "true");
    made.addEventListener("click", () => {
      const isCut = this.streams.classList.toggle("unwrapped");
      made.setAttribute("aria-pressed", String(!isCut));
    });
    return made;
  }

  private copyTool(): HTMLButtonElement {
    const made = button("Copy", "Copy all of the output");
    made.addEventListener("click", () => void copied(this.text()).then((isDone) => this.copyEnded(made, isDone)));
    return made;
  }

  /** If copying is blocked, the output is selected, so that Ctrl-C copies it. */
  private copyEnded(tool: HTMLButtonElement, isDone: boolean): void {
    flash(tool, isDone);
    if (!isDone) getSelection()?.selectAllChildren(this.streams);
  }

  private saveTool(): HTMLButtonElement {
    const made = button("Save", "Save all of the output as a file");
    made.addEventListener("click", () => download("output.txt", this.text()));
    return made;
  }

  private clearTool(): HTMLButtonElement {
    const made = button("Clear", "Clear the output");
    made.addEventListener("click", () => {
      this.clear();
      this.say("");
      this.cleared.emit();
      if (this.invitation !== null) this.streams.append(this.invitation);
      // The button that had the focus is hidden now.
      byId("run").focus({ preventScroll: true });
    });
    return made;
  }
}

function stream(title: string, name: string, content: string, render: Renderer): Node[] {
  if (content === "") return [];
  const section = element("section", { class: `stream ${name}`, "aria-label": title });
  section.append(element("h2", {}, title));
  render(content, section);
  return [section];
}
