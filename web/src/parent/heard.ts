// What the embedding page has said before anybody here could answer.

/** A page that has sent more than this without an answer is not waiting for one. */
const MOST = 1000;

type Listener = (event: MessageEvent) => void;

export class Heard {
  private events: MessageEvent[] = [];
  private listener: Listener = (event) => {
    if (event.source === window.parent && this.events.length < MOST) this.events.push(event);
  };

  constructor() {
    addEventListener("message", (event) => this.listener(event));
  }

  /** From now on `listener` has them all, those of before first. */
  handTo(listener: Listener): void {
    this.listener = listener;
    const early = this.events;
    this.events = [];
    // Not before who hands it over is done.
    queueMicrotask(() => early.forEach(listener));
  }
}
