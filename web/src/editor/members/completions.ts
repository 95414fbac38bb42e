// The snippets of a language, and the names that follow a dot. They are loaded
// when completion is first asked for.

import { snippet, type Completion, type CompletionContext, type CompletionResult, type CompletionSource } from "@codemirror/autocomplete";

import { Later } from "../../later";
import { isWelcome, LETTERS, type MemberSource } from "../completion";
import { knownBeforeDot } from "./inference";
import { Library, type CompletionData, type Known } from "./library";

export class Completions {
  private library: Library | null = null;
  private readonly loading: Later<Library>;

  /** `load` gets the data of the language. */
  constructor(load: () => Promise<CompletionData>) {
    this.loading = new Later(async () => (this.library = new Library(await load())));
  }

  static at(url: string): Completions {
    return new Completions(async () => {
      const answer = await fetch(url);
      if (!answer.ok) throw new Error(`the completions were answered ${answer.status}`);
      return (await answer.json()) as CompletionData;
    });
  }

  /** Templates of code. The first letters of a file come before them: a list that is open does not change. */
  readonly snippets: CompletionSource = (context) => {
    const word = context.matchBefore(/\p{Alphabetic}+/u);
    void this.loading.get().catch(() => null);
    if (this.library === null || word === null || !isWelcome(context, word.from)) return null;
    if (/[^\s{}();,>]/.test(context.state.sliceDoc(Math.max(0, word.from - 1), word.from))) return null;
    const options = Object.entries(this.library.snippets).map(
      ([label, template]): Completion => ({ label, displayLabel: `${label} …`, apply: snippet(template), boost: 1 }),
    );
    return { from: word.from, options, validFor: LETTERS };
  };

  /** The members of what stands before the dot, or `null` if that is not known. */
  readonly members: MemberSource = (context, from) => {
    if (this.library !== null) return membersOf(this.library, context, from);
    return this.loading.get().then(
      (library) => membersOf(library, context, from),
      () => null,
    );
  };
}

function membersOf(library: Library, { state, pos }: CompletionContext, from: number): CompletionResult | null {
  const found = knownBeforeDot(library, state.sliceDoc(0, from), state.sliceDoc(pos));
  if (found === null) return null;
  // A method of a type is named after two colons: String::length.
  const { known, dot } = found;
  const members = new Map(library.members(known));
  if (dot === "::" && known.kind === "type") {
    for (const [label, more] of library.members({ kind: "value", name: known.name }) ?? []) members.set(label, more);
  }
  return { from, options: [...members].map(([label, more]) => option(label, more)), validFor: LETTERS };
}

function option(label: string, { kind, name }: Known): Completion {
  const type = { function: "method", value: "property", type: "type", module: "namespace" }[kind];
  // Of internal names there may be many.
  const boost = label.startsWith("_") ? -1 : 0;
  return kind === "function" || kind === "value" ? { label, type, boost, detail: name } : { label, type, boost };
}
