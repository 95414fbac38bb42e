// A part of the program that is loaded after the rest.

export class Later<T> {
  private loading: Promise<T> | null = null;
  private readonly load: () => Promise<T>;

  constructor(load: () => Promise<T>) {
    this.load = load;
  }

  /** Returns the part. Loads it once, and again if that failed. */
  get(): Promise<T> {
    this.loading ??= this.load().catch((reason: unknown) => {
      this.loading = null;
      throw reason;
    });
    return this.loading;
  }
}
