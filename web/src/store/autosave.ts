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
  snapshot: Snapshot;
  /**
   * `latest` are the edits of this start. `aside` are edits that the latest have replaced without being made from them.
   * `older` belong to another start: the exercise has changed since.
   */
  kind: "latest" | "aside" | "older";
  /** As it is stored. */
  text: string;
}

interface Entry {
  key: string;
  savedAt: number;
  snapshot: unknown;
  text: string;
}

export class Autosave {
  private readonly options: AutosaveOptions;
  private readonly prefix: string;
  private readonly own: string;
  private readonly aside: string;
  private readonly now: () => number;
  /** The latest edits, as stored, if this page has gone on with them. Others, of another tab, are put aside. */
  private known: string | null = null;

  constructor(options: AutosaveOptions) {
    this.options = options;
    this.prefix = `${PREFIX}${options.language}/${encodeURIComponent(options.key)}/`;
    this.own = this.prefix + hashOf(options.starter);
    this.aside = `${this.own}/aside`;
    this.now = options.now ?? Date.now;
  }

  /** Returns the edits of this start, the latest first, or those of other starts. Removes edits that are too old. */
  all(): Kept[] {
    const found = this.tried((storage) => {
      const entries = this.sweep(storage).sort((one, other) => other.savedAt - one.savedAt);
      const of = (kind: Kept["kind"], isOf: (key: string) => boolean) =>
        entries.filter(({ key }) => isOf(key)).flatMap((entry): Kept[] => {
          const snapshot = this.readable(entry);
          return snapshot === null || sameSnapshot(snapshot, this.options.starter) ? [] : [{ snapshot, kind, text: entry.text }];
        });
      const present = [...of("latest", (key) => key === this.own), ...of("aside", (key) => key === this.aside)];
      return present.length > 0 ? present : of("older", (key) => key.startsWith(this.prefix));
    });
    return found ?? [];
  }

  /** The person goes on with the latest edits: they may be replaced. */
  take({ text }: Kept): void {
    this.known = text;
  }

  /** The person goes on with other edits: the latest are put aside when those are saved. */
  release(): void {
    this.known = null;
  }

  /** Saves `snapshot`, unless it is the start itself. Returns false if the browser saves nothing. */
  save(snapshot: Snapshot): boolean {
    const isKept = this.tried((storage) => {
      const before = storage.getItem(this.own);
      if (sameSnapshot(snapshot, this.options.starter)) {
        if (before === this.known) storage.removeItem(this.own);
        return true;
      }
      const text = JSON.stringify({ savedAt: this.now(), snapshot });
      const write = () => {
        if (before !== null && before !== this.known && !this.holds(before, snapshot)) storage.setItem(this.aside, before);
        storage.setItem(this.own, text);
      };
      try {
        write();
      } catch {
        // Storage is full: the oldest edits of other pages are removed, once.
        this.dropOldest(storage);
        write();
      }
      this.known = text;
      return true;
    });
    return isKept ?? false;
  }

  /** Whether these edits, as stored, are the same. */
  private holds(text: string, snapshot: Snapshot): boolean {
    const entry = readEntry(this.own, text);
    const kept = entry === null ? null : this.readable(entry);
    return kept !== null && sameSnapshot(kept, snapshot);
  }

  private readable(entry: Entry): Snapshot | null {
    return readSnapshot(entry.snapshot, this.options.starter.entryFile).value;
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
    const others = this.sweep(storage).filter(({ key }) => !key.startsWith(this.own));
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
    if (text === null) return null;
    const value: unknown = JSON.parse(text);
    if (!isRecord(value) || typeof value["savedAt"] !== "number") return null;
    return { key, savedAt: value["savedAt"], snapshot: value["snapshot"], text };
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
