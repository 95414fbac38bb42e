// A live run in the output panel: its transcript, and the line to type in;
// loaded when it is first used.

import "../styles/live.css";

import { keepingFocus } from "../dom";
import type { LiveRun } from "../run/live";
import { plainText } from "./ansi";
import { Announcer } from "./announcer";
import { InputLine } from "./input-line";
import type { Anchor } from "./styled";
import { Transcript, type Speaker } from "./transcript";

export interface DialogueOptions {
  live: LiveRun;
  /** The results, which scroll and get the focus when the line goes. */
  results: HTMLElement;
  /** The lines that were typed in this visit. */
  history: string[];
  /** Finds the links in an error. */
  anchorsOf: (plain: string) => Anchor[];
}

/** From the end: whoever reads farther up stays there. */
const NEAR_END = 40;

export class Dialogue {
  readonly element: HTMLElement;
  private readonly options: DialogueOptions;
  private readonly transcript: Transcript;
  private readonly announcer = new Announcer();
  private readonly line: InputLine;

  constructor(options: DialogueOptions) {
    const { live, results, history, anchorsOf } = options;
    this.options = options;
    this.transcript = new Transcript(anchorsOf);
    this.element = this.transcript.element;
    this.element.append(this.announcer.element);
    this.line = new InputLine(live, history);
    live.written.listen(({ stream, text }) => this.add(stream, text, plainText(text)));
    live.typed.listen((text) => this.add("typed", text, `You typed: ${text}`));
    live.inputEnded.listen(() => keepingFocus(results, () => this.line.element.remove()));
  }

  /** Shows the line to type in, if the program still takes input. */
  show(hasFocus: boolean): void {
    const { live, results } = this.options;
    if (!live.isOpen) return;
    results.append(this.line.element);
    if (hasFocus) this.line.focus();
  }

  /** The run has ended. */
  end(): void {
    this.transcript.end();
  }

  text(): string {
    return this.transcript.text();
  }

  private add(speaker: Speaker, text: string, spoken: string): void {
    const { results } = this.options;
    const isAtEnd = results.scrollHeight - results.scrollTop - results.clientHeight < NEAR_END;
    this.transcript.write(speaker, text);
    this.announcer.say(spoken);
    if (isAtEnd) results.scrollTop = results.scrollHeight;
  }
}
