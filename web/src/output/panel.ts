// What a run wrote, and how it ended.

import { byId, element } from "../dom";
import type { Answer, RunResult } from "../run/client";
import { summary } from "../run/words";
import { styled } from "./ansi";

/** Lines shown of a stream; the rest is kept for copying. */
const LINES_SHOWN = 5000;

/** Shows the text of one stream in `target`. */
export type Renderer = (text: string, target: HTMLElement) => void;

export class OutputPanel {
  private readonly streams = byId("streams");
  private readonly status = byId("status");
  private readonly alert = byId("alert");
  private last: RunResult | null = null;
  /** How stdout is shown; text unless the language has something better. */
  renderStdout: Renderer = text;
  /** How stderr is shown: with links to the lines it names. */
  renderStderr: Renderer = text;

  /** A run begins: the old output goes. */
  begin(): void {
    this.clear();
    this.alert.textContent = "";
  }

  show(answer: Answer): void {
    const words = summary(answer);
    const isFault = answer.kind !== "ran" && answer.kind !== "stopped";
    this.say(words);
    this.alert.textContent = isFault ? words : "";
    if (answer.kind !== "ran") return;
    this.last = answer;
    this.streams.replaceChildren(
      ...stream("Output", "stdout", answer.stdout, this.renderStdout),
      ...stream("Errors", "stderr", answer.stderr, this.renderStderr),
    );
    if (answer.stdout === "" && answer.stderr === "") {
      this.streams.append(element("p", { class: "quiet" }, "The program printed nothing."));
    }
  }

  /** A word on how it goes: shown, and read out when the person is idle. */
  say(words: string): void {
    this.status.textContent = words;
  }

  clear(): void {
    this.last = null;
    this.streams.replaceChildren();
  }

  /** What would be copied. */
  text(): string {
    if (this.last === null) return "";
    const { stdout, stderr } = this.last;
    return stdout + (stdout === "" || stdout.endsWith("\n") ? "" : "\n") + stderr;
  }
}

/** Text with its colours, cut to what a page can hold. */
export function text(content: string, target: HTMLElement): void {
  const lines = content.split("\n");
  const cut = lines.length - LINES_SHOWN;
  const shown = cut > 0 ? lines.slice(cut).join("\n") : content;
  if (cut > 0) target.append(element("p", { class: "quiet" }, `${cut} lines above are not shown; copying has them.`));
  target.append(element("pre", { tabindex: "0" }, styled(shown)));
}

function stream(title: string, name: string, content: string, render: Renderer): Node[] {
  if (content === "") return [];
  const section = element("section", { class: `stream ${name}`, "aria-label": title });
  section.append(element("h2", {}, title));
  render(content, section);
  return [section];
}
