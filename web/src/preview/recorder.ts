// Sends what a page says, bounded: a page can say things faster than anybody
// can take them.

import { MOST_ENTRIES, type Entry, type FromFrame } from "./protocol";

export class Recorder {
  private readonly send: (message: FromFrame) => void;
  private sent = 0;
  private last = "";
  private repeats = 0;
  private dropped = 0;

  constructor(send: (message: FromFrame) => void) {
    this.send = send;
  }

  add(entry: Entry): void {
    const text = JSON.stringify(entry);
    if (text === this.last) {
      this.repeats += 1;
      return;
    }
    if (this.sent >= MOST_ENTRIES) {
      this.dropped += 1;
      return;
    }
    this.flush();
    this.last = text;
    this.sent += 1;
    this.send({ type: "entry", entry });
  }

  /** Tells what was only counted so far. */
  flush(): void {
    if (this.repeats > 0) this.send({ type: "repeat", count: this.repeats });
    if (this.dropped > 0) this.send({ type: "dropped", count: this.dropped });
    this.repeats = 0;
    this.dropped = 0;
  }

  clear(): void {
    this.sent = 0;
    this.last = "";
    this.repeats = 0;
    this.dropped = 0;
    this.send({ type: "clear" });
  }
}
