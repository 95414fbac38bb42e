// The submitted files, as messages name them.

import type { SourceFile } from "../workspace";
import { escaped } from "./pattern";

/** Nobody wrote a longer line by hand. */
export const MAX_LINE = 2000;
/** The lines of a statement among which the quoted one is searched. */
const MAX_STATEMENT = 100;

export class Sources {
  readonly entryFile: string;
  /** Matches the path of a submitted file, and nothing else. */
  readonly pathPattern: string;
  /** Matches the last part of such a path. */
  readonly namePattern: string;
  private readonly files: readonly Readonly<SourceFile>[];
  private readonly lines = new Map<string, string[]>();
  private readonly quotes = new Map<string, string[]>();

  constructor(entryFile: string, files: readonly Readonly<SourceFile>[]) {
    this.entryFile = entryFile;
    this.files = files;
    this.pathPattern = oneOf(files.map((file) => file.path));
    this.namePattern = oneOf(files.map((file) => nameOf(file.path)));
  }

  get paths(): string[] {
    return this.files.map((file) => file.path);
  }

  /** A line of a file, counted from 1. */
  line(path: string, number: number): string | undefined {
    return this.linesOf(path)[number - 1];
  }

  linesOf(path: string): readonly string[] {
    const known = this.lines.get(path);
    if (known !== undefined) return known;
    const content = this.files.find((file) => file.path === path)?.content ?? "";
    const lines = content.split(/\r\n|\r|\n/);
    this.lines.set(path, lines);
    return lines;
  }

  /**
   * The line that a message quotes, counted from 1: the nearest one above the end of the statement at line `end`, which
   * itself counts. A tab is quoted as a blank. 0 if there is none.
   */
  quoted(path: string, end: number, text: string): number {
    const first = Math.max(0, end - MAX_STATEMENT);
    const lines = this.quotable(path).slice(first, end);
    const whole = lines.lastIndexOf(text);
    // Of a long line, a part is quoted.
    const found = whole < 0 ? lines.findLastIndex((line) => line.includes(text)) : whole;
    return found < 0 ? 0 : first + found + 1;
  }

  /** The lines of a file as messages quote them. */
  private quotable(path: string): readonly string[] {
    const known = this.quotes.get(path);
    if (known !== undefined) return known;
    const lines = this.linesOf(path).map((line) => (line.length <= MAX_LINE ? line.replaceAll("\t", " ") : ""));
    this.quotes.set(path, lines);
    return lines;
  }

  /** The one file of this name; of several the one in `folder`. */
  named(name: string, folder: string): string | null {
    const same = this.paths.filter((path) => nameOf(path) === name);
    if (same.length === 1) return same[0] ?? null;
    const within = folder === "" ? name : `${folder}/${name}`;
    const near = same.filter((path) => path === within || path.endsWith(`/${within}`));
    if (near.includes(within)) return within;
    return near.length === 1 ? (near[0] ?? null) : null;
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function oneOf(texts: readonly string[]): string {
  if (texts.length === 0) return "(?!)";
  const longestFirst = [...new Set(texts)].sort((a, b) => b.length - a.length);
  return `(?:${longestFirst.map(escaped).join("|")})`;
}
