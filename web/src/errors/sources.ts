// The submitted files, as messages name them.

import type { SourceFile } from "../workspace";
import { escaped } from "./pattern";

export class Sources {
  readonly entryFile: string;
  /** Matches the path of a submitted file, and nothing else. */
  readonly pathPattern: string;
  /** Matches the last part of such a path. */
  readonly namePattern: string;
  private readonly files: readonly Readonly<SourceFile>[];
  private readonly lines = new Map<string, string[]>();

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
