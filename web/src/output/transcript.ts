// The transcript of a live run: output as it comes, and between it the text that
// was typed. Lines that are finished never change; only the last one is drawn
// again.

import { element } from "../dom";
import { t } from "../messages";
import { plainText, Terminal, type Look } from "./ansi";
import { LENGTH_SHOWN, LINE_CUT, LINES_SHOWN } from "./limits";
import { styled, type Anchor } from "./styled";

/** The characters that take as long to show as an element. */
const ELEMENT_COST = 6;

export type Speaker = "stdout" | "stderr" | "typed";

export class Transcript {
  readonly element = element("section", { class: "stream transcript", "aria-label": t("page.output") });
  private readonly lines = element("pre", { tabindex: "0", role: "group", "aria-label": t("output.text") });
  private readonly cut = element("p", { class: "hidden-lines", hidden: true });
  private readonly anchorsOf: (plain: string) => Anchor[];
  private readonly looks: Partial<Record<Speaker, Readonly<Look>>> = {};
  private readonly parts: { speaker: Speaker; text: string }[] = [];
  private readonly chunks: { box: HTMLElement; lines: number; length: number }[] = [];
  private block: Block | null = null;
  private shown = { lines: 0, length: 0 };

  /** `anchorsOf` finds the links in an error. */
  constructor(anchorsOf: (plain: string) => Anchor[]) {
    this.anchorsOf = anchorsOf;
    this.cut.textContent = t("output.earlier");
    this.element.append(this.cut, this.lines);
  }

  write(speaker: Speaker, text: string): void {
    const last = this.parts.at(-1);
    // Lines that were typed at once are sent, or not sent, at once.
    const isSame = speaker !== "typed" && last?.speaker === speaker;
    if (isSame && last !== undefined) last.text += text;
    else this.parts.push({ speaker, text });
    const block = isSame && this.block !== null ? this.block : this.begin(speaker, last?.text.endsWith("\n") ?? true);
    const chunk = block.write(text);
    if (chunk !== null) this.count(chunk);
    this.looks[speaker] = block.look;
    this.trim();
  }

  /** Shows text that was typed. The result marks it as not sent. */
  type(text: string): () => void {
    this.write("typed", text);
    const [part, box] = [this.parts.at(-1), this.block?.element];
    const lineEnd = text.endsWith("\n") ? "" : "\n";
    return () => {
      const mark = t("live.not-sent", { text: "" });
      if (part !== undefined) part.text = mark + text + lineEnd;
      box?.classList.add("not-sent");
      box?.prepend(element("span", {}, mark));
      box?.append(lineEnd);
    };
  }

  /** Makes links of the lines that errors name. */
  end(): void {
    for (const box of this.lines.querySelectorAll<HTMLElement>(":scope > .stderr")) {
      const plain = box.textContent ?? "";
      const anchors = this.anchorsOf(plain);
      // Colours go if there are links: a message with both is rare.
      if (anchors.length > 0) box.replaceChildren(styled([{ text: plain, look: {} }], anchors));
    }
  }

  /** All of it, without colours. */
  text(): string {
    return this.parts.map(({ speaker, text }) => (speaker === "typed" ? text : plainText(text))).join("");
  }

  private begin(speaker: Speaker, isAtStart: boolean): Block {
    const block = new Block(speaker, this.looks[speaker]);
    block.element.classList.toggle("whole-lines", isAtStart);
    this.lines.append(block.element);
    this.block = block;
    return block;
  }

  private count(box: HTMLElement): void {
    const text = box.textContent ?? "";
    const chunk = { box, lines: text.split("\n").length - 1, length: text.length + ELEMENT_COST * box.childElementCount };
    this.chunks.push(chunk);
    this.shown.lines += chunk.lines;
    this.shown.length += chunk.length;
  }

  /** Removes the oldest lines if there are too many. */
  private trim(): void {
    while (this.shown.lines > LINES_SHOWN || this.shown.length > LENGTH_SHOWN) {
      const oldest = this.chunks.shift();
      if (oldest === undefined) return;
      this.shown.lines -= oldest.lines;
      this.shown.length -= oldest.length;
      const { parentElement } = oldest.box;
      oldest.box.remove();
      if (parentElement !== this.block?.element && parentElement?.textContent === "") parentElement.remove();
      this.cut.hidden = false;
    }
  }
}

/** The text that one speaker writes before another does. */
class Block {
  readonly element: HTMLElement;
  private readonly terminal: Terminal;
  private readonly line = element("span");

  constructor(speaker: Speaker, look: Readonly<Look> | undefined) {
    this.element = element(speaker === "typed" ? "kbd" : "span", { class: speaker }, this.line);
    this.terminal = new Terminal(look, LINE_CUT);
  }

  get look(): Readonly<Look> {
    return this.terminal.look;
  }

  /** Returns the element of the lines that are finished now, if there are any. */
  write(text: string): HTMLElement | null {
    const { finished, line } = this.terminal.write(text);
    this.line.replaceChildren(styled(line));
    if (finished.length === 0) return null;
    const chunk = element("span", {}, styled(finished));
    this.line.before(chunk);
    return chunk;
  }
}
