// Reads the stacks of errors that browsers write, and finds their places in the
// person's files.

import type { DocumentScripts, Place } from "./maps";
import { SHELL_NAME } from "./protocol";

export interface Frame {
  /** The name of the function; empty if it has none. */
  name: string;
  url: string;
  line: number;
  column: number;
}

/** A frame in one of the person's files. */
export interface OwnFrame {
  name: string;
  place: Place;
}

/** Calls of a stack that are read: a page can make a stack of any length. */
const MAX_CALLS = 50;

/** The calls of a stack, innermost first, without those of our own code. */
export function framesOf(stack: string): Frame[] {
  const frames = stack.split("\n", MAX_CALLS).map(frameOf).filter((frame) => frame !== null);
  return frames.filter((frame) => !frame.url.includes(SHELL_NAME));
}

/** The files that a run's document is made of. */
export interface Sources {
  entryFile: string;
  paths: readonly string[];
}

/** Finds places in the person's files for positions in a document. */
export class Places {
  private readonly scripts: DocumentScripts;
  private readonly sources: Sources;
  private url = "";

  constructor(scripts: DocumentScripts, sources: Sources) {
    this.scripts = scripts;
    this.sources = sources;
  }

  /** The document was written, with this URL and after this many inserted characters. */
  begin(url: string, insertedLength: number): void {
    this.url = url;
    this.scripts.insertedLength = insertedLength;
  }

  /** The calls in the person's files. */
  own(stack: string): OwnFrame[] {
    return framesOf(stack).flatMap((frame) => {
      const place = this.place(frame);
      return place === null ? [] : [{ name: frame.name, place }];
    });
  }

  private place({ url, line, column }: Frame): Place | null {
    const { entryFile, paths } = this.sources;
    if (withoutFragment(url) !== withoutFragment(this.url)) {
      // A script with a name of its own (sourceURL).
      const file = decoded(url);
      return paths.includes(file) ? { file, line, column } : null;
    }
    const origin = this.scripts.origin(line, column);
    if (origin === "unknown") return null;
    if (origin !== "unmapped") return paths.includes(origin.file) ? origin : null;
    // Code without a map is in the document as it is in the file.
    if (!/\.html?$/i.test(entryFile)) return null;
    return { file: entryFile, line, column: this.scripts.column(line, column) };
  }
}

function frameOf(line: string): Frame | null {
  // Chromium: `    at name (url:1:2)`; Firefox and Safari: `name@url:1:2`.
  // From the end, step by step: one pattern for all of it would try every division of a long line.
  const position = /:(\d{1,9}):(\d{1,9})(\)?)$/.exec(line);
  if (position === null) return null;
  const [, row, column, bracket = ""] = position;
  const rest = line.slice(0, position.index);
  const start = /^\s*at /.exec(rest)?.[0].length;
  const sign = start === undefined ? rest.indexOf("@") : rest.lastIndexOf(" (");
  if (start === undefined && (sign < 0 || bracket !== "")) return null;
  const name = sign < 0 ? "" : rest.slice(start ?? 0, sign);
  const url = sign < 0 ? rest.slice(start) : rest.slice(sign + (start === undefined ? 1 : 2));
  return { name: name.replace(/^async /, ""), url, line: Number(row), column: Number(column) };
}

const withoutFragment = (url: string) => url.split("#", 1)[0];

function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}
