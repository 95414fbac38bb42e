// Reads server-sent events from pieces of a stream.

export interface ServerEvent {
  name: string;
  data: string;
}

export class ServerEvents {
  private rest = "";

  /** The events that this piece completes. */
  take(piece: string): ServerEvent[] {
    const lines = (this.rest + piece).split("\n\n");
    this.rest = lines.pop() ?? "";
    return lines.flatMap((block) => eventOf(block) ?? []);
  }
}

/** `null` for a comment. */
function eventOf(block: string): ServerEvent | null {
  const fields = block.split("\n").map((line) => /^(\w+): ?(.*)$/s.exec(line) ?? []);
  const valuesOf = (wanted: string) => fields.flatMap(([, name, value = ""]) => (name === wanted ? [value] : []));
  const name = valuesOf("event").at(-1);
  return name === undefined ? null : { name, data: valuesOf("data").join("\n") };
}
