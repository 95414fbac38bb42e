// What the person works on: the files, the entry, the one shown, the input.

import { Event } from "./event";

export interface SourceFile {
  path: string;
  content: string;
}

/** Everything that a run needs and that is worth keeping. */
export interface Snapshot {
  entryFile: string;
  files: SourceFile[];
  stdin: string;
}

/** What the name of a file ends with, in small letters: `py` of `a/Main.PY`. */
export function endingOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1).toLowerCase();
}

/** What is wrong with a path; `null` when nothing is. As the server checks it. */
export function faultOfPath(path: string, others: readonly string[]): string | null {
  if (path === "") return "A file needs a name.";
  if (path.startsWith("/")) return "Leave out the slash at the beginning.";
  if (path.includes("\\")) return "Use / between folders, not \\.";
  if (/[\u0000-\u001f\u007f-\u009f]/.test(path)) return "A name cannot hold control characters.";
  const segments = path.split("/");
  if (segments.includes("")) return "There is an empty folder name in it.";
  if (segments.some((segment) => segment === "." || segment === "..")) return "A name cannot be . or ..";
  const bytes = (text: string) => new TextEncoder().encode(text).length;
  if (segments.some((segment) => bytes(segment) > 255) || bytes(path) > 1024) return "The name is too long.";
  if (others.includes(path)) return `There is a file ${path} already.`;
  const folder = others.find((other) => other.startsWith(`${path}/`) || path.startsWith(`${other}/`));
  return folder === undefined ? null : `A file cannot be the folder of another: ${folder}.`;
}

export class Workspace {
  /** The files, their names, the entry or the one shown changed. */
  readonly filesChanged = new Event<void>();
  /** Something changed that a run or a copy would notice; typing too. */
  readonly edited = new Event<void>();
  /** All was replaced: whoever keeps a copy must look again. */
  readonly replaced = new Event<void>();

  private state: Snapshot;
  private shown: string;

  constructor(snapshot: Snapshot) {
    this.state = structuredClone(snapshot);
    this.shown = snapshot.entryFile;
  }

  get files(): readonly Readonly<SourceFile>[] {
    return this.state.files;
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

  setStdin(text: string): void {
    this.state.stdin = text;
    this.edited.emit();
  }

  setContent(path: string, content: string): void {
    const file = this.find(path);
    if (file === undefined || file.content === content) return;
    file.content = content;
    this.edited.emit();
  }

  show(path: string): void {
    if (this.shown === path || this.find(path) === undefined) return;
    this.shown = path;
    this.filesChanged.emit();
  }

  /** Adds a file, at the end where no place is told, and shows it. The path must have no fault. */
  add(path: string, content = "", index = this.state.files.length): void {
    this.state.files.splice(index, 0, { path, content });
    this.shown = path;
    this.filesChanged.emit();
    this.edited.emit();
  }

  /** The new path must have no fault. */
  rename(path: string, to: string): void {
    const file = this.find(path);
    if (file === undefined) return;
    file.path = to;
    if (this.state.entryFile === path) this.state.entryFile = to;
    if (this.shown === path) this.shown = to;
    this.filesChanged.emit();
    this.edited.emit();
  }

  /** Removes a file that is not the entry. */
  remove(path: string): void {
    const index = this.state.files.findIndex((file) => file.path === path);
    if (index < 0 || path === this.state.entryFile) return;
    this.state.files.splice(index, 1);
    if (this.shown === path) {
      const next = this.state.files[Math.min(index, this.state.files.length - 1)];
      this.shown = next?.path ?? this.state.entryFile;
    }
    this.filesChanged.emit();
    this.edited.emit();
  }

  setEntry(path: string): void {
    if (this.find(path) === undefined || path === this.state.entryFile) return;
    this.state.entryFile = path;
    this.filesChanged.emit();
    this.edited.emit();
  }

  /** Replaces all of it; a file must be there and the entry be one of them. */
  replace(snapshot: Snapshot): void {
    if (!snapshot.files.some((file) => file.path === snapshot.entryFile)) return;
    this.state = structuredClone(snapshot);
    this.shown = snapshot.entryFile;
    this.replaced.emit();
    this.filesChanged.emit();
    this.edited.emit();
  }

  private find(path: string): SourceFile | undefined {
    return this.state.files.find((file) => file.path === path);
  }
}
