// Events with listeners.

export type Stop = () => void;

export class Event<T> {
  private readonly listeners = new Set<(value: T) => void>();

  /** Calls `listener` at every event from now on, until the result is called. */
  listen(listener: (value: T) => void): Stop {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  emit(value: T): void {
    for (const listener of [...this.listeners]) listener(value);
  }
}
