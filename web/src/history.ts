// The lines that were typed into a field, which the arrow keys bring back.

const MAX_LINES = 100;

export class History {
  private readonly lines: string[];
  /** The place of the line that is shown; the number of lines for a new one. */
  private at: number;

  /** `lines` are earlier ones; later ones are added to them. */
  constructor(lines: string[] = []) {
    this.lines = lines;
    this.at = lines.length;
  }

  add(line: string): void {
    if (line !== this.lines.at(-1)) this.lines.push(line);
    if (this.lines.length > MAX_LINES) this.lines.shift();
    this.at = this.lines.length;
  }

  /** Puts an earlier line, or a later one, into the field. */
  recall(field: HTMLInputElement, by: 1 | -1): void {
    this.at = Math.min(Math.max(this.at + by, 0), this.lines.length);
    const line = this.lines[this.at] ?? "";
    field.value = line;
    field.setSelectionRange(line.length, line.length);
  }
}
