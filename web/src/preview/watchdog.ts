// Tells whether a page still answers. Time in which the editor itself stood
// still does not count against the page.

/** Silence after which a page counts as one that hangs. */
export const MOST_SILENCE_MS = 5000;
/** How often it is asked. */
export const PING_MS = 1000;

export class Watchdog {
  private silentMs = 0;
  private lastMs: number;

  constructor(nowMs: number) {
    this.lastMs = nowMs;
  }

  /** The page has answered. */
  heard(): void {
    this.silentMs = 0;
  }

  /** Asked every PING_MS: whether the page has been silent for too long. */
  isSilent(nowMs: number, isCounted = true): boolean {
    if (isCounted) this.silentMs += Math.min(nowMs - this.lastMs, 1.5 * PING_MS);
    this.lastMs = nowMs;
    return this.silentMs >= MOST_SILENCE_MS;
  }
}

/** Remembers over a reload that a page hung, so that it is not started unasked. */
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

  /** Before a page starts: where it takes the editor with it, nothing can be kept any more. */
  set(): void {
    this.with((storage) => storage.setItem(this.key, "1"));
  }

  clear(): void {
    this.with((storage) => storage.removeItem(this.key));
  }

  /** Where storage is blocked, nothing is remembered. */
  private with<T>(use: (storage: Storage) => T): T | null {
    try {
      return use(this.storage());
    } catch {
      return null;
    }
  }
}
