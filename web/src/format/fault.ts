// The failure of formatting a file.

/** The reason why a file was not formatted, and its place in the file, if it has one. */
export class Fault extends Error {
  readonly place: { line: number; column: number } | null;

  constructor(message: string, place: { line: number; column: number } | null) {
    super(message);
    this.place = place;
  }
}
