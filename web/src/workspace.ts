// The program that the person edits: its files, the entry, the file that is
// shown, and the input.

import { Event } from "./event";
import { t } from "./messages";

export interface SourceFile {
  path: string;
  content: string;
}

/** A program and its input. */
export interface Snapshot {
  entryFile: string;
  files: SourceFile[];
  stdin: string;
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

export class Workspace {
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

  /** Replaces everything. Does nothing unless the entry is one of the files. */
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
