// Sends the messages of a page, at a limited rate: a page can write faster than
// the editor can read.

import { MAX_AT_ONCE, MAX_ENTRIES, type Entry, type FromFrame } from "./protocol";

export class Recorder {
  private readonly send: (message: FromFrame) => void;
  /** Entries since the console was cleared. */
  private sent = 0;
  /** Messages since the last ping, also those that clear. */
  private sentAtOnce = 0;
  private last = "";
  private repeats = 0;
  private dropped = 0;
  /** Whether the console was cleared, but the limit of messages was reached. */
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
    if (this.sent >= MAX_ENTRIES || this.sentAtOnce >= MAX_AT_ONCE) {
      this.dropped += 1;
      return;
    }
    this.flush();
    this.last = text;
    this.sent += 1;
    this.sentAtOnce += 1;
    this.send({ type: "entry", entry });
  }

  /** The editor has read all messages, and can read more. */
  begin(): void {
    this.sentAtOnce = 0;
    if (this.isClearing) this.send({ type: "clear" });
    this.isClearing = false;
    this.flush();
  }

  /** The next entry is no repetition of the last: something stands between them. */
  separate(): void {
    this.flush();
    this.last = "";
  }

  clear(): void {
    this.sent = 0;
    this.last = "";
    this.repeats = 0;
    this.dropped = 0;
    this.isClearing = this.sentAtOnce >= MAX_AT_ONCE;
    if (this.isClearing) return;
    this.sentAtOnce += 1;
    this.send({ type: "clear" });
  }

  /** Sends the counts. */
  private flush(): void {
    if (this.repeats > 0) this.send({ type: "repeat", count: this.repeats });
    if (this.dropped > 0) this.send({ type: "dropped", count: this.dropped });
    this.repeats = 0;
    this.dropped = 0;
  }
}
