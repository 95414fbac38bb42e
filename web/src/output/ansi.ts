// Reads terminal output as pieces of text with a look: with colours and weights,
// without links and cursor moves. A line that was written over is shown as it was
// last.

import { basic, indexed, type Colour } from "./colours";

export interface Look {
  foreground?: Colour;
  background?: Colour;
  isBold?: boolean;
  isDim?: boolean;
  isItalic?: boolean;
  isUnderlined?: boolean;
  isStruck?: boolean;
  isInverse?: boolean;
}

export interface Piece {
  text: string;
  look: Readonly<Look>;
}

/** Of a longer line only the beginning is kept, and a note at the cut. */
export interface Cut {
  length: number;
  /** `count` characters are left out. */
  note: (count: number) => string;
}

const UNCUT: Cut = { length: Infinity, note: () => "" };

/** The pieces in order; neighbours differ in their look. */
export function pieces(text: string, cut = UNCUT): Piece[] {
  const plain = text.replaceAll("\r\n", "\n");
  if (plain === "") return [];
  const hasControls = /[\u0000-\u0008\u000b-\u001f\u007f\u009b]/.test(plain);
  if (!hasControls && plain.split("\n").every(({ length }) => length <= cut.length)) return [{ text: plain, look: PLAIN }];
  const screen = new Screen(PLAIN, cut);
  for (const match of plain.matchAll(TOKEN)) screen.take(match);
  return screen.done();
}

/** The text without its look. */
export function plainText(text: string): string {
  return pieces(text)
    .map((piece) => piece.text)
    .join("");
}

/** The text without half a surrogate pair at its end. */
export function whole(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last < 0xdc00 ? text.slice(0, -1) : text;
}

/** Reads terminal output that comes piece by piece. */
export class Terminal {
  private readonly screen: Screen;
  /** The beginning of a sequence or of a line end whose rest has not come. */
  private held = "";

  /** Begins with the look at which other output has ended. */
  constructor(look = PLAIN, cut = UNCUT) {
    this.screen = new Screen(look, cut);
  }

  get look(): Readonly<Look> {
    return this.screen.look;
  }

  /** Returns the lines that this text completes, and the line that is written now. */
  write(text: string): { finished: Piece[]; line: Piece[] } {
    const all = this.held + text;
    const held = UNFINISHED.exec(all)?.[0] ?? "";
    this.held = held.length > MAX_HELD ? "" : held;
    const whole = all.slice(0, all.length - this.held.length).replaceAll("\r\n", "\n");
    for (const match of whole.matchAll(TOKEN)) this.screen.take(match);
    return { finished: this.screen.takeFinished(), line: this.screen.current() };
  }
}

/** The look of text without sequences. */
export const PLAIN: Readonly<Look> = {};

// In this order: strings for the terminal itself (links, titles; one that is not
// closed ends with its line), control sequences, other escapes, single controls,
// text.
const TOKEN = new RegExp(
  [
    "\\u001b[\\]PX^_][^\\u0007\\u001b\\n]*(?:\\u0007|\\u001b\\\\)?",
    "(?:\\u001b\\[|\\u009b)([0-?]*)[ -/]*([@-~]?)",
    "\\u001b[ -/]*[0-~]?",
    "[\\u0000-\\u0008\\u000b-\\u001f\\u007f]",
    "[^\\u0000-\\u0008\\u000b-\\u001f\\u007f\\u009b]+",
  ].join("|"),
  "g",
);

/** A part of a token at the end of a text. */
const UNFINISHED = /(?:\r|\u001b\[[0-?]*[ -/]*|\u009b[0-?]*[ -/]*|\u001b[\]PX^_][^\u0007\u001b\n]*\u001b?|\u001b[ -/]*)$/;
const MAX_HELD = 4096;

interface Cell {
  character: string;
  look: Readonly<Look>;
}

/** The line that is being written, and the lines above it. */
class Screen {
  private finished: Piece[] = [];
  /** Used only for a line in which the cursor went back. */
  private cells: Cell[] | null = null;
  private line: Piece[] = [];
  /** The length of `line`. */
  private kept = 0;
  /** The characters of the line behind its cut: only their number is known. */
  private hidden = 0;
  private at = 0;
  private readonly cut: Cut;
  look: Readonly<Look>;

  constructor(look: Readonly<Look>, cut: Cut) {
    this.look = look;
    this.cut = cut;
  }

  take([token, parameters = "", final = ""]: RegExpMatchArray): void {
    if (final === "m") this.look = restyled(this.look, parameters);
    else if (final === "K") this.erase(parameters);
    else if (token === "\r") this.back(0);
    else if (token === "\b") this.back(-1);
    else if (token !== undefined && /^[^\u0000-\u0008\u000b-\u001f\u007f\u009b]/.test(token)) this.write(token);
  }

  done(): Piece[] {
    this.endLine("");
    return this.finished;
  }

  /** Returns the lines that were finished since the last call. */
  takeFinished(): Piece[] {
    const { finished } = this;
    this.finished = [];
    return finished;
  }

  /** The line that is being written. */
  current(): Piece[] {
    const pieces: Piece[] = [];
    for (const { text, look } of this.line) append(pieces, text, look);
    for (const { character, look } of this.cells ?? []) append(pieces, character, look);
    if (this.hidden > 0) append(pieces, this.cut.note(this.hidden), PLAIN);
    return pieces;
  }

  private write(text: string): void {
    const lines = text.split("\n");
    lines.forEach((line, index) => {
      if (line !== "") this.put(line);
      if (index < lines.length - 1) this.endLine("\n");
    });
  }

  private put(text: string): void {
    if (this.cells === null) {
      const room = this.hidden > 0 ? 0 : this.cut.length - this.kept;
      const kept = text.length <= room ? text : whole(text.slice(0, room));
      if (kept !== "") this.line.push({ text: kept, look: this.look });
      this.kept += kept.length;
      this.hidden += text.length - kept.length;
      return;
    }
    for (const character of text) this.set(this.at++, { character, look: this.look });
  }

  private set(at: number, cell: Cell): void {
    const { cells, hidden, cut } = this;
    if (cells === null) return;
    if (at < cells.length || (hidden === 0 && at < cut.length)) cells[at] = cell;
    else this.hidden = Math.max(hidden, at + 1 - cells.length);
  }

  private back(step: 0 | -1): void {
    if (this.cells === null) {
      this.cells = this.line.flatMap(({ text, look }) => [...text].map((character) => ({ character, look })));
      this.at = this.cells.length + this.hidden;
      this.line = [];
    }
    this.at = step === 0 ? 0 : Math.max(this.at - 1, 0);
  }

  private erase(parameters: string): void {
    if (parameters === "2") {
      this.clear(this.cells === null ? null : []);
    } else if (this.cells !== null && (parameters === "" || parameters === "0")) {
      this.cells.length = Math.min(this.cells.length, this.at);
      this.hidden = this.at - this.cells.length;
    }
  }

  private endLine(end: "\n" | ""): void {
    for (const { text, look } of this.current()) append(this.finished, text, look);
    if (end !== "") append(this.finished, end, PLAIN);
    this.clear(null);
  }

  private clear(cells: Cell[] | null): void {
    this.cells = cells;
    this.line = [];
    this.kept = this.hidden = this.at = 0;
  }
}

/** Adds text to pieces, to the last one if that has the same look. */
export function append(pieces: Piece[], text: string, look: Readonly<Look>): void {
  const last = pieces.at(-1);
  if (last !== undefined && last.look === look) last.text += text;
  else pieces.push({ text, look });
}

/** The look after a "select graphic rendition" sequence. */
function restyled(look: Readonly<Look>, parameters: string): Readonly<Look> {
  // 38:2::255:0:0 and 38;2;255;0;0 mean the same; the first has an empty field.
  const codes = parameters
    .replace(/([34]8):2:\d*:(\d+:\d+:\d+)/g, "$1:2:$2")
    .split(/[;:]/)
    .map((code) => (code === "" ? 0 : Number(code)));
  let next: Look = { ...look };
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] ?? 0;
    if (code === 38 || code === 48) {
      const [colour, used] = extended(codes, index + 1);
      index += used;
      if (colour !== null && code === 38) next.foreground = colour;
      if (colour !== null && code === 48) next.background = colour;
    } else {
      next = applied(next, code);
    }
  }
  return Object.keys(next).length === 0 ? PLAIN : next;
}

/** The colour after 38 or 48, and the number of its codes. */
function extended(codes: readonly number[], start: number): [Colour | null, number] {
  const [kind, first = 0, second = 0, third = 0] = codes.slice(start, start + 4);
  if (kind === 5) return [indexed(first), 2];
  if (kind === 2) return [{ red: first & 255, green: second & 255, blue: third & 255 }, 4];
  return [null, 0];
}

const FLAGS: Readonly<Record<number, keyof Look>> = {
  1: "isBold",
  2: "isDim",
  3: "isItalic",
  4: "isUnderlined",
  7: "isInverse",
  9: "isStruck",
  21: "isUnderlined",
};
const ENDS: Readonly<Record<number, readonly (keyof Look)[]>> = {
  22: ["isBold", "isDim"],
  23: ["isItalic"],
  24: ["isUnderlined"],
  27: ["isInverse"],
  29: ["isStruck"],
  39: ["foreground"],
  49: ["background"],
};

function applied(look: Look, code: number): Look {
  if (code === 0) return {};
  const flag = FLAGS[code];
  if (flag !== undefined) return { ...look, [flag]: true };
  const next = { ...look };
  for (const name of ENDS[code] ?? []) delete next[name];
  if (code >= 30 && code <= 37) next.foreground = basic(code - 30);
  if (code >= 90 && code <= 97) next.foreground = basic(code - 90 + 8);
  if (code >= 40 && code <= 47) next.background = basic(code - 40);
  if (code >= 100 && code <= 107) next.background = basic(code - 100 + 8);
  return next;
}
