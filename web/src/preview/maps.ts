// Finds the source of a position in a document by the inline source maps of its
// scripts, as developer tools do.

import { afterComment } from "./protocol";

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const COMMENT = "//# sourceMappingURL=data:application/json";

/** A place in a file of the person's; line and column are from 1. */
export interface Place {
  file: string;
  line: number;
  column: number;
}

/** The source of a position: a place, a script without a map (`unmapped`), or generated code (`unknown`). */
export type Origin = Place | "unmapped" | "unknown";

interface Script {
  /** Offsets in the document, of the code alone. */
  start: number;
  end: number;
  map: SourceMap | null | "unread";
}

/** The scripts of one document. */
export class DocumentScripts {
  private readonly html: string;
  private readonly scripts: readonly Script[];
  private readonly lines: readonly number[];
  /** The length of the text that was inserted into the document, at `insertedAt`, to show it. */
  insertedLength = 0;
  private readonly insertedAt: number;

  constructor(html: string, insertedAt = 0) {
    this.html = html;
    this.insertedAt = insertedAt;
    const scripts = rawElements(html).filter(({ name }) => name === "script");
    this.scripts = scripts.map(({ start, end }) => ({ start, end, map: "unread" }));
    const lines = [0];
    for (let at = html.indexOf("\n"); at >= 0; at = html.indexOf("\n", at + 1)) lines.push(at + 1);
    this.lines = lines;
  }

  /** Line and column are from 1, as in stacks. */
  origin(line: number, shownColumn: number): Origin {
    const lineStart = this.lines[line - 1];
    if (lineStart === undefined) return "unknown";
    const column = this.column(line, shownColumn) - 1;
    const offset = lineStart + column;
    const script = lastOf(this.scripts, ({ start }) => start <= offset);
    if (script === undefined || script.end < offset) return "unmapped";
    if (script.map === "unread") script.map = readComment(this.html.slice(script.start, script.end));
    if (script.map === null) return "unmapped";
    const first = this.lineOf(script.start);
    const from = line - 1 === first ? script.start - lineStart : 0;
    return script.map.origin(line - 1 - first, column - from) ?? "unknown";
  }

  /** The column before the insertion. */
  column(line: number, shownColumn: number): number {
    if (line - 1 !== this.lineOf(this.insertedAt)) return shownColumn;
    const before = this.insertedAt - (this.lines[line - 1] ?? 0);
    return shownColumn <= before ? shownColumn : Math.max(before + 1, shownColumn - this.insertedLength);
  }

  private lineOf(offset: number): number {
    return Math.max(0, lastIndexOf(this.lines, (start) => start <= offset));
  }
}

/** The last item for which `holds` is true; those items come first. A page can ask for thousands of places at once. */
function lastOf<T>(list: readonly T[], holds: (one: T) => boolean): T | undefined {
  return list[lastIndexOf(list, holds)];
}

function lastIndexOf<T>(list: readonly T[], holds: (one: T) => boolean): number {
  let [low, high] = [-1, list.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (holds(list[middle] as T)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A column of the generated code, and its source. */
type Segment = readonly [number, Place | null];

/** Version 3 of the format, as far as bundlers use it. */
export class SourceMap {
  private readonly lines: readonly (readonly Segment[])[];

  constructor(sources: readonly (string | null)[], mappings: string) {
    let [source, line, column] = [0, 0, 0];
    this.lines = mappings.split(";").map((text) => {
      let at = 0;
      const segments = (text === "" ? [] : text.split(",")).map((segment): Segment => {
        const fields = decodeVlq(segment);
        at += fields[0] ?? 0;
        source += fields[1] ?? 0;
        line += fields[2] ?? 0;
        column += fields[3] ?? 0;
        const file = fields.length < 4 ? null : (sources[source] ?? null);
        return [at, file === null ? null : { file, line: line + 1, column: column + 1 }];
      });
      return segments.sort(([one], [other]) => one - other);
    });
  }

  /** Line and column are from 0, of the generated code. */
  origin(line: number, column: number): Place | null {
    const segments = this.lines[line] ?? [];
    return lastOf(segments, ([at]) => at <= column)?.[1] ?? null;
  }
}

/** Numbers in digits of five bits, the lowest first. The lowest bit of a number is its sign. */
export function decodeVlq(segment: string): number[] {
  const numbers: number[] = [];
  let [number, shift] = [0, 0];
  for (const letter of segment) {
    const digit = DIGITS.indexOf(letter);
    if (digit < 0) return [];
    number += (digit & 31) << shift;
    shift += 5;
    if ((digit & 32) !== 0) continue;
    numbers.push((number & 1) === 0 ? number >>> 1 : -(number >>> 1));
    [number, shift] = [0, 0];
  }
  return numbers;
}

/** An element whose content is text, and where that is. */
export interface RawElement {
  name: string;
  start: number;
  end: number;
}

/** The elements whose content is text, such as scripts and styles; not those in comments and in each other. */
export function rawElements(html: string): RawElement[] {
  const found: RawElement[] = [];
  const tag = /<!--|<(script|style|textarea|title)(?=[\s/>])/gi;
  for (let opened = tag.exec(html); opened !== null; opened = tag.exec(html)) {
    const name = opened[1]?.toLowerCase();
    if (name === undefined) {
      tag.lastIndex = afterComment(html, opened.index);
      continue;
    }
    const start = afterTag(html, tag.lastIndex);
    const close = new RegExp(`</${name}(?=[\\s/>])`, "gi");
    close.lastIndex = start;
    const end = close.exec(html);
    found.push({ name, start, end: end?.index ?? html.length });
    if (end === null) break;
    tag.lastIndex = close.lastIndex;
  }
  return found;
}

/** The end of the tag that contains `at`. A `>` in a quoted value does not end it. */
function afterTag(html: string, at: number): number {
  const next = />|=\s*(["']?)/g;
  next.lastIndex = at;
  for (let found = next.exec(html); found !== null; found = next.exec(html)) {
    if (found[0] === ">") return next.lastIndex;
    const quote = found[1] ?? "";
    if (quote === "") continue;
    const end = html.indexOf(quote, next.lastIndex);
    if (end < 0) break;
    next.lastIndex = end + 1;
  }
  return html.length;
}

/** The map in the last comment of a script; `null` if there is none that can be read. */
function readComment(code: string): SourceMap | null {
  const at = code.lastIndexOf(COMMENT);
  if (at < 0) return null;
  const [line = ""] = code.slice(at + COMMENT.length).split("\n", 1);
  const comma = line.indexOf(",");
  const data = line.slice(comma + 1).trim();
  try {
    const text = line.slice(0, comma).endsWith(";base64") ? fromBase64(data) : decodeURIComponent(data);
    const { sources, mappings } = JSON.parse(text) as { sources?: unknown; mappings?: unknown };
    if (!Array.isArray(sources) || typeof mappings !== "string") return null;
    return new SourceMap(sources.map((name) => (typeof name === "string" ? decodeURI(name) : null)), mappings);
  } catch {
    return null;
  }
}

function fromBase64(data: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)));
}
