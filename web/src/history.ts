// The lines that were typed into a field, which the arrow keys bring back.

const MAX_LINES = 100;

export class History {
  private readonly lines: string[];
  /** The place of the line that is shown; the number of lines for a new one. */
  private at: number;
  /** The new line, as far as it was typed before an earlier one was shown. */
  private draft = "";

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
  recall(field: Pick<HTMLInputElement, "value" | "setSelectionRange">, by: 1 | -1): void {
    const at = Math.min(Math.max(this.at + by, 0), this.lines.length);
    if (at === this.at) return;
    if (this.at === this.lines.length) this.draft = field.value;
    this.at = at;
    const line = this.lines[at] ?? this.draft;
    field.value = line;
    field.setSelectionRange(line.length, line.length);
  }
}
