// The type of an expression, as far as a page can know it without a compiler:
// by literals, declared types, imports and the results of known functions.

import { first, receiver, type Expression } from "./expression";
import type { Known, Library } from "./library";

/** More names than that do not depend on each other. */
const MAX_DEPTH = 5;
/** Longer lines are not written by hand. */
const MAX_LINE = 500;
/** The lines above that may belong to a chain of calls. */
const MAX_CHAIN = 30;

/** The expression before the dot at the end of a text: `null` if that is not known. */
export function knownBeforeDot(library: Library, text: string, after: string): { known: Known; dot: string } | null {
  const lines = text.split("\n");
  let start = lines.length - 1;
  while (start > 0 && lines.length - start < MAX_CHAIN && /^\s*[.)\]}]/.test(lines[start] ?? "")) start--;
  const found = receiver(lines.slice(start).join("\n"));
  if (found === null) return null;
  const known = new Inference(library, lines, after.split("\n").slice(1)).known(found.expression, lines.length - 1, 0);
  return known === null ? null : { known, dot: found.dot };
}

class Inference {
  private readonly library: Library;
  /** To the cursor, and below it. */
  private readonly above: readonly string[];
  private readonly below: readonly string[];

  constructor(library: Library, above: readonly string[], below: readonly string[]) {
    this.library = library;
    this.above = above;
    this.below = below;
  }

  /** `line` is the index of the expression's line. */
  known({ kind, head, steps }: Expression, line: number, depth: number): Known | null {
    if (depth > MAX_DEPTH) return null;
    let known: Known | null;
    if (kind === "name") known = this.declared(head, line, depth);
    else if (kind === "new") known = this.library.type(head);
    else known = this.literal(head, line, depth);
    for (const step of steps) {
      if (known === null) return null;
      if (step.kind === "member") known = this.library.members(known)?.get(step.name) ?? null;
      else if (step.kind === "call") known = this.library.call(known);
      else known = this.library.part(known, "at");
    }
    return known;
  }

  /** The type of an expression that is all of a text, but for a comment. */
  private typeOf(text: string, line: number, depth: number): Known | null {
    const found = first(text);
    if (found === null) return null;
    const { expression, rest } = found;
    // A text to which more is added is a text.
    const isWhole = /^\s*(?:$|[;#)]|\/\/)/.test(rest) || (expression.kind === "literal" && /^\s*\+/.test(rest));
    return isWhole ? this.known(expression, line, depth) : null;
  }

  /** A value of the type that an expression names, such as `date` after `from datetime import date`. */
  private valueOf(text: string, line: number, depth: number): Known | null {
    const known = this.typeOf(text, line, depth);
    return known?.kind === "type" ? this.library.value(known.name) : null;
  }

  private literal(text: string, line: number, depth: number): Known | null {
    for (const [pattern, type] of this.library.values) {
      const match = pattern.exec(text);
      if (match === null) continue;
      const part = (_: string, name: string) => {
        const value = match.groups?.[name];
        const known = value === undefined ? null : this.typeOf(value, line, depth + 1);
        return known?.kind === "value" ? known.name : "?";
      };
      return this.library.value(type.replaceAll(/\$<(\w+)>/g, part));
    }
    const inner = /^\(\s*([^,]*)\)$/.exec(text)?.[1];
    return inner === undefined ? null : this.typeOf(inner, line, depth + 1);
  }

  /** The nearest declaration above counts, or else the first below. */
  private declared(name: string, line: number, depth: number): Known | null {
    for (let index = line; index >= 0; index--) {
      const found = this.declaredIn(this.above[index] ?? "", { name, line: index, depth });
      if (found !== undefined) return found;
    }
    for (const text of [...this.above.slice(line + 1), ...this.below]) {
      const found = this.declaredIn(text, { name, line: this.above.length, depth });
      if (found !== undefined) return found;
    }
    return this.library.global(name);
  }

  /** `undefined` if the line does not declare the name; `null` if it does, but its type is not known. */
  private declaredIn(text: string, of: { name: string; line: number; depth: number }): Known | null | undefined {
    if (text.length > MAX_LINE) return undefined;
    const { name, line, depth } = of;
    const isCursors = line === this.above.length - 1;
    let last: { at: number; known: () => Known | null } | null = null;
    for (const [pattern, type] of this.library.declares) {
      for (const match of text.matchAll(pattern)) {
        const groups = match.groups ?? {};
        const own = groups["name"] ?? groups["member"] ?? groups["module"]?.split(".")[0];
        const end = match.index + match[0].length;
        // A value that is still being typed gives no name its type yet.
        const isOpen = isCursors && end === text.length && (groups["value"] ?? groups["each"]) !== undefined;
        if (own !== name || isOpen || (last !== null && last.at > match.index)) continue;
        last = { at: match.index, known: () => this.declares(groups, { type, line, depth }) };
      }
    }
    return last === null ? undefined : last.known();
  }

  private declares(
    groups: Readonly<Record<string, string | undefined>>,
    { type, line, depth }: { type: string; line: number; depth: number },
  ): Known | null {
    const { library } = this;
    // Its own value is of the lines before: `s = s.strip()`.
    const before = line - 1;
    const { name, type: named, value, each, module, member } = groups;
    if (module !== undefined) {
      const known = library.module(member === undefined && name === undefined ? (module.split(".")[0] ?? "") : module);
      if (member === undefined) return known;
      const inner = library.module(`${module}.${member}`);
      return inner ?? (known === null ? null : (library.members(known)?.get(member) ?? null));
    }
    if (named !== undefined) {
      const known = library.value(named) ?? this.valueOf(named, before, depth + 1);
      if (known !== null || value === undefined) return known;
    }
    if (value !== undefined) return this.typeOf(value, before, depth + 1);
    if (each === undefined) return library.value(type);
    const iterated = this.typeOf(each, before, depth + 1);
    return iterated === null ? null : library.part(iterated, "each");
  }
}
