// Edits, saved in the browser for two weeks. Storage may be blocked or full: then
// nothing is saved, and everything else works.

import type { Snapshot } from "../workspace";
import { isRecord, readSnapshot, sameSnapshot } from "./snapshot";

const PREFIX = "sandpiper/1/";
const KEPT_MS = 14 * 24 * 60 * 60 * 1000;

export interface AutosaveOptions {
  /** May throw, as `window.localStorage` does if it is blocked. */
  storage: () => Storage;
  language: string;
  /** Distinguishes pages of one language. */
  key: string;
  /** The start of the page. Each start has edits of its own. */
  starter: Snapshot;
  now?: () => number;
}

export interface Kept {
  /** Where it is in the storage. */
  key: string;
  savedAt: number;
  snapshot: Snapshot;
  /** Whether these edits belong to another start: the exercise has changed since. */
  isOfOlderStart: boolean;
}

interface Entry {
  key: string;
  savedAt: number;
  snapshot: unknown;
}

export class Autosave {
  private readonly options: AutosaveOptions;
  private readonly prefix: string;
  private readonly ofStart: string;
  private readonly own: string;
  private readonly now: () => number;

  constructor(options: AutosaveOptions) {
    this.options = options;
    this.prefix = `${PREFIX}${options.language}/${encodeURIComponent(options.key)}/`;
    this.ofStart = this.prefix + hashOf(options.starter);
    // Several tabs do not overwrite each other's edits, nor those of earlier visits.
    this.own = `${this.ofStart}/${Math.random()}`;
    this.now = options.now ?? Date.now;
  }

  /**
   * Returns the latest edits of this start, other than those saved here, or the latest of another start. Removes edits
   * that are too old.
   */
  find(): Kept | null {
    return this.tried((storage) => {
      const others = this.sweep(storage).filter(({ key }) => key !== this.own && key.startsWith(this.prefix));
      others.sort((one, other) => other.savedAt - one.savedAt);
      const ofStart = others.find(({ key }) => key.startsWith(this.ofStart));
      const found = ofStart ?? others[0];
      if (found === undefined) return null;
      const { value: snapshot } = readSnapshot(found.snapshot, this.options.starter.entryFile);
      if (snapshot === null || sameSnapshot(snapshot, this.options.starter)) return null;
      return { ...found, snapshot, isOfOlderStart: found !== ofStart };
    });
  }

  /** Forgets edits of this start, unless another tab has gone on with them. */
  forget({ key, savedAt }: Kept): void {
    this.tried((storage) => {
      const isSame = readEntry(key, storage.getItem(key))?.savedAt === savedAt;
      if (isSame && key.startsWith(this.ofStart)) storage.removeItem(key);
    });
  }

  /** Saves `snapshot`, unless it is the start itself. Returns false if the browser saves nothing. */
  save(snapshot: Snapshot): boolean {
    const isKept = this.tried((storage) => {
      if (sameSnapshot(snapshot, this.options.starter)) {
        storage.removeItem(this.own);
        return true;
      }
      const text = JSON.stringify({ savedAt: this.now(), snapshot });
      try {
        storage.setItem(this.own, text);
      } catch {
        // Storage is full: the oldest edits of other pages are removed, once.
        this.dropOldest(storage);
        storage.setItem(this.own, text);
      }
      return true;
    });
    return isKept ?? false;
  }

  /** Returns the entries that are not too old, and removes the others. */
  private sweep(storage: Storage): Entry[] {
    const fresh: Entry[] = [];
    for (const key of keysOf(storage)) {
      const entry = readEntry(key, storage.getItem(key));
      const age = entry === null ? Infinity : this.now() - entry.savedAt;
      if (entry !== null && age < KEPT_MS) fresh.push(entry);
      else storage.removeItem(key);
    }
    return fresh;
  }

  private dropOldest(storage: Storage): void {
    const others = this.sweep(storage).filter((entry) => entry.key !== this.own);
    others.sort((one, other) => one.savedAt - other.savedAt);
    for (const entry of others.slice(0, Math.ceil(others.length / 2))) storage.removeItem(entry.key);
  }

  private tried<T>(act: (storage: Storage) => T): T | null {
    try {
      return act(this.options.storage());
    } catch {
      return null;
    }
  }
}

function keysOf(storage: Storage): string[] {
  const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index));
  return keys.filter((key) => key !== null).filter((key) => key.startsWith(PREFIX));
}

function readEntry(key: string, text: string | null): Entry | null {
  try {
    const value: unknown = JSON.parse(text ?? "");
    if (!isRecord(value) || typeof value["savedAt"] !== "number") return null;
    return { key, savedAt: value["savedAt"], snapshot: value["snapshot"] };
  } catch {
    return null;
  }
}

/** Distinguishes starts. A collision gives no advantage to anybody (FNV-1a, twice 32 bits). */
export function hashOf(snapshot: Snapshot): string {
  const { entryFile, files, stdin } = snapshot;
  const parts = files.map(({ path, content, hidden, locked }) => [path, content, hidden, locked].filter((part) => part !== undefined));
  const text = JSON.stringify([entryFile, parts, stdin]);
  let one = 0x811c9dc5;
  let other = 0x01000193;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    one = Math.imul(one ^ unit, 0x01000193);
    other = Math.imul(other ^ (unit + index), 0x5bd1e995);
  }
  return (one >>> 0).toString(36) + (other >>> 0).toString(36);
}
