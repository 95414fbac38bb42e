// Decides whether a page still answers. Time in which the editor itself was
// blocked does not count.

/** A page that is silent for longer hangs. */
export const MAX_SILENCE_MS = 5000;
/** The time between two pings. */
export const PING_MS = 1000;

export class Watchdog {
  private silentMs = 0;
  private lastMs: number;

  constructor(nowMs: number) {
    this.lastMs = nowMs;
  }

  /** The page has answered. */
  answered(): void {
    this.silentMs = 0;
  }

  /** Whether the page has been silent for too long. To be called every PING_MS. */
  isSilent(nowMs: number, isCounted = true): boolean {
    if (isCounted) this.silentMs += Math.min(nowMs - this.lastMs, 1.5 * PING_MS);
    this.lastMs = nowMs;
    return this.silentMs >= MAX_SILENCE_MS;
  }
}

/** Remembers, also after a reload, that a page hung, so that it does not start by itself. */
export class HangMemory {
  private readonly key: string;
  private readonly storage: () => Storage;

  constructor(key: string, storage: () => Storage) {
    this.key = `sandpiper:hung:${key}`;
    this.storage = storage;
  }

  get isSet(): boolean {
    return this.with((storage) => storage.getItem(this.key) !== null) ?? false;
  }

  /** To be called before a page starts: a page that freezes the editor leaves no time for it. */
  set(): void {
    this.with((storage) => storage.setItem(this.key, "1"));
  }

  clear(): void {
    this.with((storage) => storage.removeItem(this.key));
  }

  /** If storage is blocked, nothing is remembered. */
  private with<T>(use: (storage: Storage) => T): T | null {
    try {
      return use(this.storage());
    } catch {
      return null;
    }
  }
}
