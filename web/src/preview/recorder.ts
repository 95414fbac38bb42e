// Sends what a page says, bounded: a page can say things faster than anybody
// can take them.

import { MOST_AT_ONCE, MOST_ENTRIES, type Entry, type FromFrame } from "./protocol";

export class Recorder {
  private readonly send: (message: FromFrame) => void;
  /** Since the console was cleared. */
  private sent = 0;
  /** Since the last ping, clearing included. */
  private sentAtOnce = 0;
  private last = "";
  private repeats = 0;
  private dropped = 0;
  /** Cleared, and too much was sent to say so at once. */
  private isClearing = false;

  constructor(send: (message: FromFrame) => void) {
    this.send = send;
  }

  add(entry: Entry): void {
    const text = JSON.stringify(entry);
    if (text === this.last) {
      this.repeats += 1;
      return;
    }
    if (this.sent >= MOST_ENTRIES || this.sentAtOnce >= MOST_AT_ONCE) {
      this.dropped += 1;
      return;
    }
    this.flush();
    this.last = text;
    this.sent += 1;
    this.sentAtOnce += 1;
    this.send({ type: "entry", entry });
  }

  /** The editor has taken what was sent, and can take more. */
  begin(): void {
    this.sentAtOnce = 0;
    if (this.isClearing) this.send({ type: "clear" });
    this.isClearing = false;
    this.flush();
  }

  clear(): void {
    this.sent = 0;
    this.last = "";
    this.repeats = 0;
    this.dropped = 0;
    this.isClearing = this.sentAtOnce >= MOST_AT_ONCE;
    if (this.isClearing) return;
    this.sentAtOnce += 1;
    this.send({ type: "clear" });
  }

  /** Tells what was only counted so far. */
  private flush(): void {
    if (this.repeats > 0) this.send({ type: "repeat", count: this.repeats });
    if (this.dropped > 0) this.send({ type: "dropped", count: this.dropped });
    this.repeats = 0;
    this.dropped = 0;
  }
}
