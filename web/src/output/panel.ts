// The output of a run, and how it ended.

import { byId, element } from "../dom";
import { Event } from "../event";
import { t } from "../messages";
import type { Answer, RunResult } from "../run/client";
import type { Verdict } from "../run/expected";
import type { Reader } from "../store/reader";
import { shownOf, type QueryResult } from "../run/query-results";
import { outcomeOf, spoken, stages, summary } from "../run/words";
import { plainText } from "./ansi";
import type { Dialogue } from "./dialogue";
import { icon, type IconName } from "./icons";
import { text, type Renderer } from "./render";
import { OutputTools } from "./tools";

export type { Renderer } from "./render";

/** Characters of a status that should have one line. */
const SHORT = 24;
/** Pixels of one line of the status, and a half; and of two. */
const ONE_LINE = 26;
const TWO_LINES = 43;
/** The width in which the tools leave no room for a word. */
const NARROW = 240;

export class OutputPanel {
  private readonly streams = byId("streams");
  private readonly status = byId("status");
  private readonly alert = byId("alert");
  /** The text before the first run. */
  private readonly invitation = this.streams.querySelector(".invitation");
  private readonly bar = byId("outcome");
  private readonly times = element("details", { class: "times", hidden: true });
  private readonly tools: OutputTools;
  /** The words of the status, without those that are only spoken; a person may have run the code before this was loaded. */
  private words = this.status.textContent ?? "";
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

  constructor(reader: Reader) {
    this.tools = new OutputTools({ text: () => this.text(), clear: () => this.reset(), reader });
    const key = this.invitation?.querySelector("kbd");
    if (key && /Mac|iP/.test(navigator.platform)) key.textContent = "⌘";
    new ResizeObserver(() => this.fit()).observe(this.bar);
    this.status.after(element("div", { class: "output-bar" }, this.times, ...this.tools.elements));
    this.times.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.times.open = false;
      this.times.querySelector("summary")?.focus();
    });
    this.times.addEventListener("focusout", ({ relatedTarget }) => {
      if (relatedTarget instanceof Node && !this.times.contains(relatedTarget)) this.times.open = false;
    });
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

  /** `error` is the message of the first error, if it is known; `verdict` that about the expected output, if there is one. */
  show(answer: Answer, error: string | null, verdict: Verdict | null): void {
    const words = summary(answer, verdict);
    const isFault = answer.kind !== "ran" && answer.kind !== "stopped";
    if (answer.kind === "ran") this.last = answer;
    const outcome = outcomeOf(answer, verdict);
    const more = answer.kind === "ran" ? spoken(answer, error, this.isDocument ? null : this.text()) : "";
    this.say(words, outcome, outcome === "differs" && verdict?.matches === false ? t("run.differs-line", { line: verdict.line }) : more);
    this.alert.textContent = isFault ? words : "";
    this.tools.show(this.text() !== "");
    if (answer.kind !== "ran") return;
    this.showTimes(answer);
    this.fit();
    if (this.dialogue === null) this.showStreams(answer);
  }

  /** Adds the warnings of the compiler below the output. */
  addWarnings(warnings: string): void {
    this.streams.append(...stream(t("output.warnings"), "warnings", warnings, this.renderStderr));
  }

  /** Adds a view of the difference from the expected output, above the output. */
  addDifference(difference: HTMLElement): void {
    this.streams.prepend(difference);
  }

  /** Adds a view of the files that the program left; `null` if there are none. */
  addFiles(files: HTMLElement | null): void {
    if (files !== null) this.streams.querySelector(".quiet")?.remove();
    else if (this.text() !== "") return;
    this.streams.append(files ?? element("p", { class: "quiet" }, t("files.none")));
  }

  private showStreams(answer: RunResult): void {
    const results = shownOf(answer.results ?? []);
    this.streams.replaceChildren(
      ...(this.isDocument ? [] : stream(t("page.output"), "stdout", answer.stdout, this.renderStdout, results)),
      ...stream(t("output.errors"), "stderr", answer.stderr, this.renderStderr),
    );
    if (answer.stdout === "" && answer.stderr === "" && results.length === 0) {
      this.streams.append(element("p", { class: "quiet" }, t("output.nothing")));
    }
  }

  /** Shows a status, which screen readers announce when the person is idle, with `more` words that are only spoken. */
  say(words: string, state: IconName | null, more = ""): void {
    this.status.setAttribute("aria-live", "polite");
    this.mark(state);
    if (words === this.words && more === "") return;
    this.words = words;
    this.status.replaceChildren(words, ...(more === "" ? [] : [element("span", { class: "unseen" }, more)]));
    this.status.title = words;
    this.fit();
  }

  /** Shows a status whose seconds have changed, without an announcement. */
  tick(words: string): void {
    if (words === this.words) return;
    this.words = words;
    this.status.setAttribute("aria-live", "off");
    this.status.textContent = words;
    this.fit();
  }

  clear(): void {
    this.last = null;
    this.dialogue = null;
    this.tools.show(false);
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

  /** As before the first run. */
  reset(): void {
    this.clear();
    this.say("", null);
    this.cleared.emit();
    if (this.invitation !== null) this.streams.append(this.invitation);
  }

  /**
   * The words have precedence over the tools, which are collapsed unless both fit into one row. In a bar that has no
   * room even for both then, the words have a row of their own: they would be broken inside.
   */
  private fit(): void {
    const { classList } = this.bar;
    classList.remove("collapsed", "narrow", "long");
    const isCollapsed = this.status.scrollHeight > (this.words.length > SHORT ? TWO_LINES : ONE_LINE);
    classList.toggle("collapsed", isCollapsed);
    classList.toggle("narrow", isCollapsed && this.bar.clientWidth < NARROW);
    classList.toggle("long", isCollapsed && this.status.scrollHeight > TWO_LINES);
  }

  private mark(state: IconName | null): void {
    if (this.bar.dataset["state"] === (state ?? "")) return;
    this.bar.dataset["state"] = state ?? "";
    this.bar.querySelector(":scope > .icon")?.remove();
    if (state !== null) this.bar.prepend(icon(state));
  }

  private showTimes(result: RunResult): void {
    const known = stages(result);
    this.times.hidden = known.length === 0;
    const list = element("dl");
    for (const { name, time } of known) list.append(element("dt", {}, name), element("dd", {}, time));
    const title = t("output.times");
    this.times.replaceChildren(element("summary", { "aria-label": title, title }, icon("times")), list);
  }
}

function stream(
  title: string,
  name: string,
  content: string,
  render: Renderer,
  results: readonly QueryResult[] = [],
): Node[] {
  if (content === "" && results.length === 0) return [];
  const section = element("section", { class: `stream ${name}`, "aria-label": title });
  section.append(element("h2", {}, title));
  render(content, section, results);
  return [section];
}
