// The edits of a reader in the program as its author has it now: hidden and locked
// files, and locked lines, are the author's. Loaded if the program has any.

import { linesOf, readSpans, writeSpans, type Span } from "../locks";
import { faultOfPath, isFixed, visibleOf, type Snapshot, type SourceFile } from "../workspace";

/** Edits that were kept, in the program of this start, which may have changed since. */
export function inProgram(kept: Snapshot, start: Snapshot): Snapshot {
  const fixed = new Map(start.files.filter(isFixed).map((file) => [file.path, file]));
  const paths = [...fixed.keys()];
  const known = new Set(start.files.map((file) => file.path));
  const files = kept.files.flatMap((file): SourceFile[] => {
    const theirs = fixed.get(file.path);
    if (theirs !== undefined) return [merged(file, theirs)];
    // The author has removed it, or has needed its name since.
    const isGone = isFixed(file) && !known.has(file.path);
    return isGone || faultOfPath(file.path, paths) !== null ? [] : [{ path: file.path, content: file.content }];
  });
  start.files.forEach((file, index) => {
    if (isFixed(file) && !files.some(({ path }) => path === file.path)) files.splice(index, 0, { ...file });
  });
  if (visibleOf(files).length === 0) return structuredClone(start);
  const has = (path: string) => files.some((file) => file.path === path);
  const entryFile = [kept.entryFile, start.entryFile].find(has) ?? visibleOf(files)[0]?.path;
  return entryFile === undefined ? structuredClone(start) : { ...kept, entryFile, files };
}

/** The reader's text of `kept` with the locked parts of `file`; `file` itself if they do not fit together. */
function merged(kept: Readonly<SourceFile>, file: Readonly<SourceFile>): SourceFile {
  const theirs = piecesOf(file);
  const own = piecesOf(kept);
  if (theirs === null || own === null || !fit(own, theirs)) return { ...file };
  const [first = []] = own.free;
  // Earlier edits may have none before the locked ones; today's always do (editor/locked.ts).
  const lines = [...(first.length === 0 ? (theirs.free[0] ?? []) : first)];
  const spans: Span[] = [];
  theirs.locked.forEach((part, index) => {
    const from = lines.length + 1;
    lines.push(...part);
    const isOpen = theirs.isOpen && index === theirs.locked.length - 1;
    spans.push({ from, to: isOpen ? Infinity : lines.length });
    lines.push(...(own.free[index + 1] ?? []));
  });
  return { ...file, content: lines.join("\n"), locked: writeSpans(spans) };
}

interface Pieces {
  locked: string[][];
  /** The lines before, between and after the locked ones. */
  free: string[][];
  isOpen: boolean;
}

/** Whether the free lines of `own` can stand between the locked ones of `theirs`. */
function fit(own: Pieces, theirs: Pieces): boolean {
  return own.locked.length === theirs.locked.length && own.isOpen === theirs.isOpen && (startsFree(theirs) || !startsFree(own));
}

function startsFree({ free }: Pieces): boolean {
  return (free[0] ?? []).length > 0;
}

function piecesOf({ content, locked }: Readonly<SourceFile>): Pieces | null {
  if (typeof locked !== "string") return null;
  const spans = readSpans(locked, content);
  const lines = linesOf(content);
  const ends = [0, ...spans.map(({ to }) => Math.min(to, lines.length))];
  const free = ends.map((end, index) => lines.slice(end, spans[index] === undefined ? undefined : spans[index].from - 1));
  return { locked: spans.map(({ from, to }) => lines.slice(from - 1, to)), free, isOpen: spans.at(-1)?.to === Infinity };
}
