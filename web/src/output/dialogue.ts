// A live run in the output panel: its transcript, and the line to type in;
// loaded when it is first used.

import "../styles/live.css";

import { keepingFocus } from "../dom";
import { t } from "../messages";
import type { LiveRun, Typed } from "../run/live";
import { plainText } from "./ansi";
import { Announcer } from "./announcer";
import { InputLine, type Typing } from "./input-line";
import type { Anchor } from "./styled";
import { Transcript } from "./transcript";

export interface DialogueOptions {
  live: LiveRun;
  /** The results, which scroll and get the focus when the line goes. */
  results: HTMLElement;
  typing: Typing;
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
    const { live, results, typing, anchorsOf } = options;
    this.options = options;
    this.transcript = new Transcript(anchorsOf);
    this.element = this.transcript.element;
    this.element.append(this.announcer.element);
    this.line = new InputLine(live, typing);
    live.written.listen(({ stream, text }) => this.add(plainText(text), () => this.transcript.write(stream, text)));
    live.typed.listen((typed) => void this.addTyped(typed));
    live.inputEnded.listen(() => keepingFocus(results, () => this.line.leave()));
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

  private async addTyped({ text, fault }: Typed): Promise<void> {
    const markNotSent = this.add(t("live.typed", { text }), () => this.transcript.type(text));
    if ((await fault) === null) return;
    this.add(t("live.not-sent", { text }), markNotSent);
  }

  /** Adds to the transcript; a person who reads its end stays there. */
  private add<T>(spoken: string, write: () => T): T {
    const { results } = this.options;
    const isAtEnd = results.scrollHeight - results.scrollTop - results.clientHeight < NEAR_END;
    const written = write();
    this.announcer.say(spoken);
    if (isAtEnd) results.scrollTop = results.scrollHeight;
    return written;
  }
}
