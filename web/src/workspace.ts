// The program that the person edits: its files, the entry, the file that is
// shown, and the input.

import { Event } from "./event";
import { t } from "./messages";

export interface SourceFile {
  path: string;
  content: string;
  /** Belongs to the program, but is not shown. */
  hidden?: true;
  /** The part that the reader cannot change: all of it, or lines such as `1-3,10-` (locks.ts). */
  locked?: true | string;
}

/** A program and its input. */
export interface Snapshot {
  entryFile: string;
  files: SourceFile[];
  stdin: string;
  /** The output that the author expects. */
  expected?: string;
}

/** The ending of a file's name, in lower case: `py` for `a/Main.PY`. */
export function endingOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1).toLowerCase();
}

/** The reason why a path is not allowed, or `null`. The server has the same rules. */
export function faultOfPath(path: string, others: readonly string[]): string | null {
  if (path === "") return t("start.path-empty");
  if (path.startsWith("/")) return t("start.path-slash");
  if (path.includes("\\")) return t("start.path-backslash");
  if (/[\u0000-\u001f\u007f-\u009f]/.test(path)) return t("start.path-control");
  const segments = path.split("/");
  if (segments.includes("")) return t("start.path-folder");
  if (segments.some((segment) => segment === "." || segment === "..")) return t("start.path-dots");
  const bytes = (text: string) => new TextEncoder().encode(text).length;
  if (segments.some((segment) => bytes(segment) > 255) || bytes(path) > 1024) return t("start.path-long");
  if (others.includes(path)) return t("start.path-taken", { path });
  const folder = others.find((other) => other.startsWith(`${path}/`) || path.startsWith(`${other}/`));
  return folder === undefined ? null : t("start.path-both", { path: folder });
}

/** Whether the author has a say in the file: it cannot be renamed or deleted. */
export function isFixed({ hidden, locked }: Readonly<SourceFile>): boolean {
  return hidden === true || locked !== undefined;
}

/** The files without the hidden ones. */
export function visibleOf<T extends Readonly<SourceFile>>(files: readonly T[]): T[] {
  return files.filter((file) => file.hidden !== true);
}

/** The file that is shown first: the entry, unless that is hidden. */
function firstShown({ entryFile, files }: Snapshot): string {
  const visible = visibleOf(files);
  return (visible.find((file) => file.path === entryFile) ?? visible[0])?.path ?? entryFile;
}

export class Workspace {
  /** A file has another name: the old one and the new one. Comes before `filesChanged`. */
  readonly renamed = new Event<{ from: string; to: string }>();
  /** The list of files, a name, the entry or the file that is shown changed. */
  readonly filesChanged = new Event<void>();
  /** The program or its input changed; typing too. */
  readonly edited = new Event<void>();
  /** Everything was replaced: copies are out of date. */
  readonly replaced = new Event<void>();

  private state: Snapshot;
  private shown: string;

  constructor(snapshot: Snapshot) {
    this.state = structuredClone(snapshot);
    this.shown = firstShown(snapshot);
  }

  get files(): readonly Readonly<SourceFile>[] {
    return this.state.files;
  }

  /** The files that have a tab. */
  get visible(): readonly Readonly<SourceFile>[] {
    return visibleOf(this.state.files);
  }

  /** Whether the file is hidden, or locked, or has locked lines: then it cannot be renamed or deleted. */
  isFixed(path: string): boolean {
    const file = this.find(path);
    return file !== undefined && isFixed(file);
  }

  locked(path: string): true | string | undefined {
    return this.find(path)?.locked;
  }

  get entryFile(): string {
    return this.state.entryFile;
  }

  /** The path of the file in the editor. */
  get active(): string {
    return this.shown;
  }

  get stdin(): string {
    return this.state.stdin;
  }

  snapshot(): Snapshot {
    return structuredClone(this.state);
  }

  content(path: string): string | undefined {
    return this.find(path)?.content;
  }

  get expected(): string | null {
    return this.state.expected ?? null;
  }

  /** Sets the output that the author expects; `null` for none. */
  setExpected(text: string | null): void {
    delete this.state.expected;
    if (text !== null) this.state.expected = text;
  }

  setStdin(text: string): void {
    this.state.stdin = text;
    this.edited.emit();
  }

  /** `locked` are the lines that are locked now, if the file has such lines. */
  setContent(path: string, content: string, locked: string | null = null): void {
    const file = this.find(path);
    if (file === undefined || file.content === content) return;
    file.content = content;
    if (locked !== null) file.locked = locked;
    this.edited.emit();
  }

  show(path: string): void {
    if (this.shown === path || !this.visible.some((file) => file.path === path)) return;
    this.shown = path;
    this.filesChanged.emit();
  }

  /** Adds a file, by default at the end, and shows it. The path must be allowed. */
  add(path: string, content = "", index = this.state.files.length): void {
    this.state.files.splice(index, 0, { path, content });
    this.shown = path;
    this.filesChanged.emit();
    this.edited.emit();
  }

  /** The new path must be allowed. */
  rename(path: string, to: string): void {
    const file = this.find(path);
    if (file === undefined || isFixed(file)) return;
    file.path = to;
    if (this.state.entryFile === path) this.state.entryFile = to;
    if (this.shown === path) this.shown = to;
    this.renamed.emit({ from: path, to });
    this.filesChanged.emit();
    this.edited.emit();
  }

  /** Removes a file that is not the entry. */
  remove(path: string): void {
    if (this.find(path) === undefined || path === this.state.entryFile || this.isFixed(path)) return;
    const index = this.visible.findIndex((file) => file.path === path);
    this.state.files = this.state.files.filter((file) => file.path !== path);
    if (this.shown === path) this.shown = this.visible[Math.min(index, this.visible.length - 1)]?.path ?? firstShown(this.state);
    this.filesChanged.emit();
    this.edited.emit();
  }

  setEntry(path: string): void {
    if (this.find(path) === undefined || path === this.state.entryFile) return;
    this.state.entryFile = path;
    this.filesChanged.emit();
    this.edited.emit();
  }

  /** Replaces everything. Does nothing unless the entry is one of the files. */
  replace(snapshot: Snapshot): void {
    if (!snapshot.files.some((file) => file.path === snapshot.entryFile)) return;
    this.state = structuredClone(snapshot);
    this.shown = firstShown(snapshot);
    this.replaced.emit();
    this.filesChanged.emit();
    this.edited.emit();
  }

  private find(path: string): SourceFile | undefined {
    return this.state.files.find((file) => file.path === path);
  }
}
