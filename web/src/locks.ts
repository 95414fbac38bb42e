// How locked lines of a file are written: `1-3,10-`.

/** Lines from 1, both included; `to` is Infinity if the end of the file is locked too. */
export interface Span {
  from: number;
  to: number;
}

/** The lines of this content that `spec` names, in their order. Lines that there are not are ignored. */
export function readSpans(spec: string, content: string): Span[] {
  const count = linesOf(content).length;
  const spans = spec.split(",").map((part): Span => {
    const [first = "", last] = part.split("-", 2).map((number) => number.trim());
    const from = Number(first);
    const to = last === undefined ? from : last === "" ? Infinity : Number(last);
    return { from, to: to < Infinity ? Math.min(to, count) : to };
  });
  const sorted = spans.filter(({ from, to }) => from >= 1 && from <= count && from <= to).sort((one, other) => one.from - other.from);
  // Spans that only touch stay apart: a line can be added between them.
  return sorted.reduce<Span[]>((done, span) => {
    const before = done.at(-1);
    if (before !== undefined && span.from <= before.to) before.to = Math.max(before.to, span.to);
    else done.push(span);
    return done;
  }, []);
}

/** `1-3,10-`. */
export function writeSpans(spans: readonly Span[]): string {
  return spans.map(({ from, to }) => (to === from ? `${from}` : `${from}-${to === Infinity ? "" : to}`)).join(",");
}

/** The lines of a file. */
export function linesOf(content: string): string[] {
  return content.split(/\r\n?|\n/);
}
