// Expressions, as far as the names after a dot need them: a beginning, and the
// members, calls and indices that follow. Languages write these alike.

export interface Expression {
  kind: "name" | "literal" | "group" | "new";
  /** Its beginning; of `new`, the type. */
  head: string;
  steps: readonly Step[];
}

export type Step = { kind: "member"; name: string } | { kind: "call" | "index" };

type TokenKind = "text" | "new" | "name" | "number" | "dot" | "open" | "close" | "other";

interface Token {
  kind: TokenKind;
  text: string;
  from: number;
  to: number;
}

const TEXT = String.raw`[a-zA-Z]{0,2}(?:"""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|${"`"}(?:\\.|[^${"`"}\\])*${"`"})`;
const ARGUMENTS = String.raw`<[^<>()]*(?:<[^<>()]*(?:<[^<>()]*>[^<>()]*)*>[^<>()]*)*>`;
const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s+(?!\s*(?:\?\.|\.|->|::)))`,
    `(?<text>${TEXT})`,
    String.raw`(?<new>new\s+[\w.]+\s*(?:${ARGUMENTS})?)`,
    String.raw`(?<name>[\p{Alphabetic}_$][\p{Alphabetic}\p{Number}_$]*)`,
    String.raw`(?<number>\d+(?:\.\d+)?\w*)`,
    String.raw`(?<dot>\s*(?:\?\.|\.|->|::)\s*)`,
    String.raw`(?<open>[([{])`,
    String.raw`(?<close>[)\]}])`,
    `(?<other>[^])`,
  ].join("|"),
  "suy",
);

/** Longer texts are read in part: each letter that is typed reads them again. */
const MAX_LENGTH = 2000;

/** The expression at the end of a text, and the dot after it: `s.upper()` in `print(s.upper().`. */
export function receiver(text: string): { expression: Expression; dot: string } | null {
  const read = tokens(text.slice(-MAX_LENGTH));
  const dot = read.pop();
  if (dot?.kind !== "dot") return null;
  const steps: Step[] = [];
  let last = read.length - 1;
  for (;;) {
    const token = read[last];
    const before = read[last - 1];
    if (token?.kind === "name" && before?.kind === "dot") {
      steps.unshift({ kind: "member", name: token.text });
      last -= 2;
      continue;
    }
    if (token?.kind !== "close") {
      const head = token === undefined ? null : begin(token);
      return head === null ? null : { expression: { ...head, steps }, dot: dot.text.trim() };
    }
    const first = opening(read, last);
    if (first < 0) return null;
    if (isCalled(read[first - 1], read[first])) {
      steps.unshift({ kind: token.text === "]" ? "index" : "call" });
      last = first - 1;
      continue;
    }
    const head = read.slice(first, last + 1).map(({ text: part }) => part).join(" ");
    return { expression: { kind: "group", head, steps }, dot: dot.text.trim() };
  }
}

/** The expression at the beginning of a text, and the text after it. */
export function first(text: string): { expression: Expression; rest: string } | null {
  const cut = text.trimStart().slice(0, MAX_LENGTH);
  const read = tokens(cut);
  const [token] = read;
  if (token === undefined) return null;
  let next = token.kind === "open" ? closing(read, 0) + 1 : 1;
  const head = token.kind === "open" ? ({ kind: "group", head: cut.slice(0, read[next - 1]?.to) } as const) : begin(token);
  if (head === null) return null;
  const steps: Step[] = [];
  for (;;) {
    const [here, after] = [read[next], read[next + 1]];
    if (here?.kind === "dot" && after?.kind === "name") {
      steps.push({ kind: "member", name: after.text });
      next += 2;
    } else if (isCalled(read[next - 1], here)) {
      steps.push({ kind: here?.text === "[" ? "index" : "call" });
      next = closing(read, next) + 1;
    } else {
      return { expression: { ...head, steps }, rest: here === undefined ? "" : cut.slice(here.from) };
    }
  }
}

function begin({ kind, text }: Token): Omit<Expression, "steps"> | null {
  if (kind === "name") return { kind, head: text };
  if (kind === "new") return { kind, head: text.replace(/^new\s+/, "") };
  return kind === "text" || kind === "number" ? { kind: "literal", head: text } : null;
}

/** Whether a bracket that opens after a token is a call or an index, and no group of its own. */
function isCalled(before: Token | undefined, bracket: Token | undefined): boolean {
  if (before === undefined || bracket?.kind !== "open" || bracket.text === "{") return false;
  return before.kind === "name" || before.kind === "new" || before.kind === "close" || before.kind === "text";
}

/** The index of the bracket that opens what `last` closes; -1 without one. */
function opening(read: readonly Token[], last: number): number {
  let depth = 0;
  for (let index = last; index >= 0; index--) {
    if (read[index]?.kind === "close") depth++;
    if (read[index]?.kind === "open" && --depth === 0) return index;
  }
  return -1;
}

/** The index of the bracket that closes what `start` opens, or of the last token. */
function closing(read: readonly Token[], start: number): number {
  let depth = 0;
  for (let index = start; index < read.length; index++) {
    if (read[index]?.kind === "open") depth++;
    if (read[index]?.kind === "close" && --depth === 0) return index;
  }
  return read.length - 1;
}

function tokens(text: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
    const [kind = "other"] = Object.entries(match.groups ?? {}).find(([, part]) => part !== undefined) ?? [];
    const [from, to] = [match.index, TOKEN.lastIndex];
    if (kind !== "space") found.push({ kind: kind as TokenKind, text: match[0], from, to });
  }
  return found;
}
