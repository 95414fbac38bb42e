// The messages of the embedding page that come before they can be answered.

/** A page that sends more messages than this does not wait for an answer. */
const MAX_EARLY = 1000;

type Listener = (event: MessageEvent) => void;

export class EarlyMessages {
  private events: MessageEvent[] = [];
  private listener: Listener = (event) => {
    if (event.source === window.parent && this.events.length < MAX_EARLY) this.events.push(event);
  };

  constructor() {
    addEventListener("message", (event) => this.listener(event));
  }

  /** Gives all messages to `listener`, the earlier ones first. */
  handTo(listener: Listener): void {
    this.listener = listener;
    const early = this.events;
    this.events = [];
    // After the caller has finished.
    queueMicrotask(() => early.forEach(listener));
  }
}
