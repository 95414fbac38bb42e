// The modules and types of a language with their members, as the server gives
// them (crates/server/src/embed/completions.rs).

import { expression } from "../../errors/pattern";

/** The snippets and members of a language; crates/languages/src/editor.rs documents them. */
export interface CompletionData {
  snippets: Readonly<Record<string, string>>;
  values?: readonly Rule[];
  declares?: readonly Rule[];
  members?: MembersFile | null;
}

/** A pattern and a type. */
export type Rule = readonly [pattern: string, type: string];

/**
 * The file that a language names. Each list has names with spaces between them:
 * `name`, `name:type`, `name():type` for a function and its result, or `name=type` for a
 * type or module. A type may have arguments in angle or square brackets; it has no spaces.
 */
export interface MembersFile {
  /** Names that need no declaration, besides those of types. */
  globals?: string;
  modules?: Readonly<Record<string, string>>;
  /** By name, with the names of parameters: `List<E>`. */
  types?: Readonly<Record<string, TypeEntry>>;
}

export interface TypeEntry {
  /** The types whose members it has, too. */
  is?: readonly string[];
  /** The members of its values. */
  has?: string;
  /** The members of the type itself, with those that it inherits; `*` stands for those of its values. */
  own?: string;
  /** The type of the values that a loop over it gives. */
  each?: string;
  /** The type of the value at an index, if it is not the same. */
  at?: string;
}

/** The type of an expression, as far as it is known: for a function, `name` is the type of its result. */
export interface Known {
  kind: "value" | "type" | "module" | "function";
  name: string;
}

interface Type {
  parameters: readonly string[];
  entry: TypeEntry;
}

type CompiledRule = readonly [pattern: RegExp, type: string];

/** Deeper than any hierarchy: a wrong file must not end in a circle. */
const MAX_DEPTH = 20;

export class Library {
  readonly snippets: Readonly<Record<string, string>>;
  /** The beginnings of values, each with its type. */
  readonly values: readonly CompiledRule[];
  /** The places of a line that give a name its type. */
  readonly declares: readonly CompiledRule[];
  private readonly modules: Readonly<Record<string, string>>;
  private readonly globals: ReadonlyMap<string, Known>;
  private readonly types = new Map<string, Type>();

  constructor({ snippets, values = [], declares = [], members }: CompletionData) {
    this.snippets = snippets;
    this.values = values.map(([pattern, type]) => [expression(pattern, "u"), type]);
    this.declares = declares.map(([pattern, type]) => [expression(pattern, "gu"), type]);
    this.modules = members?.modules ?? {};
    for (const [text, entry] of Object.entries(members?.types ?? {})) {
      const { name, parts } = split(text);
      this.types.set(name, { parameters: parts, entry });
    }
    this.globals = this.read(members?.globals);
  }

  global(name: string): Known | null {
    return this.globals.get(name) ?? this.type(name);
  }

  module(name: string): Known | null {
    return Object.hasOwn(this.modules, name) ? { kind: "module", name } : null;
  }

  type(text: string): Known | null {
    return this.types.has(split(text).name) ? { kind: "type", name: text } : null;
  }

  /** A value of the type, if that is known. */
  value(text: string): Known | null {
    return this.types.has(split(text).name) ? { kind: "value", name: text } : null;
  }

  /** The members by name; `null` if it is not known which there are. */
  members({ kind, name }: Known): ReadonlyMap<string, Known> | null {
    if (kind === "function") return null;
    if (kind === "module") return this.read(this.modules[name]);
    return this.membersOfType(name, kind === "type");
  }

  call({ kind, name }: Known): Known | null {
    return kind === "function" || kind === "type" ? this.value(name) : null;
  }

  /** The values of a loop over it, or the one at an index. */
  part(of: Known, which: "each" | "at", depth = 0): Known | null {
    const { name, parts } = split(of.name);
    const type = this.types.get(name);
    if (of.kind !== "value" || type === undefined || depth > MAX_DEPTH) return null;
    const found = (which === "at" ? type.entry.at : undefined) ?? type.entry.each;
    if (found !== undefined) return this.value(filled(found, type.parameters, parts));
    for (const parent of type.entry.is ?? []) {
      const inherited = this.part({ kind: "value", name: filled(parent, type.parameters, parts) }, which, depth + 1);
      if (inherited !== null) return inherited;
    }
    return null;
  }

  private membersOfType(text: string, isOwn: boolean, depth = 0): Map<string, Known> {
    const { name, parts } = split(text);
    const members = new Map<string, Known>();
    const type = this.types.get(name);
    if (type === undefined || depth > MAX_DEPTH) return members;
    const { is = [], has, own } = type.entry;
    const add = (more: ReadonlyMap<string, Known>) => {
      for (const [label, known] of more) if (!members.has(label)) members.set(label, known);
    };
    add(this.read(isOwn ? own : has, (result) => filled(result, type.parameters, parts)));
    if (isOwn) {
      if (members.delete("*")) add(this.membersOfType(text, false, depth + 1));
      return members;
    }
    for (const parent of is) add(this.membersOfType(filled(parent, type.parameters, parts), false, depth + 1));
    return members;
  }

  private read(list = "", fill = (type: string) => type): Map<string, Known> {
    const members = new Map<string, Known>();
    for (const item of list.split(" ")) {
      const [, name = "", call, , result = ""] = /^([^:=()]+)(\(\))?(?:([:=])(.*))?$/.exec(item) ?? [];
      if (name === "") continue;
      if (call !== undefined) members.set(name, { kind: "function", name: fill(result) });
      else if (!item.includes("=")) members.set(name, { kind: "value", name: fill(result) });
      else members.set(name, this.module(result) ?? { kind: "type", name: result });
    }
    return members;
  }
}

/** Names of values that may be absent, which have no members of their own. */
const NOTHING = new Set(["None", "null", "undefined"]);

/** The name of a type and its arguments; that of an array is `[]`. */
export function split(text: string): { name: string; parts: string[] } {
  const [type = ""] = separated(text.replaceAll(/\s/g, ""), "|").filter((part) => !NOTHING.has(part));
  if (type.endsWith("[]")) return { name: "[]", parts: [type.slice(0, -2)] };
  const [, name = "", parts = ""] = /^([^<>[\]]*)(?:[<[](.*)[>\]])?$/.exec(type) ?? [];
  return { name, parts: parts === "" ? [] : separated(parts, ",") };
}

/** The parts of a text between separators that are in no brackets. */
function separated(text: string, separator: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const letter of text) {
    if ("<[(".includes(letter)) depth++;
    if (">])".includes(letter)) depth--;
    if (letter === separator && depth === 0) parts.push("");
    else parts[parts.length - 1] += letter;
  }
  return parts;
}

/** A type with its parameters replaced by arguments, of which some may not be known. */
function filled(type: string, parameters: readonly string[], parts: readonly string[]): string {
  if (parameters.length === 0) return type;
  return type.replaceAll(/(?<![\w$.])[\w$]+/g, (word) => (parameters.includes(word) ? (parts[parameters.indexOf(word)] ?? "?") : word));
}
