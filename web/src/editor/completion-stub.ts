// Stands in for @codemirror/autocomplete where grammars import it, as
// vite.config.ts says: code can be typed in before it is loaded. What a grammar
// offers is asked for by the loaded one alone.

import type { Completion, CompletionContext, CompletionResult, CompletionSource } from "@codemirror/autocomplete";

type Loaded = Pick<typeof import("@codemirror/autocomplete"), "completeFromList" | "ifNotIn" | "snippet">;

let loaded: Loaded | null = null;

/** To be called before anything asks for completions. */
export function provideCompletion(given: Loaded): void {
  loaded = given;
}

export function snippetCompletion(template: string, completion: Completion): Completion {
  const apply: Completion["apply"] = (view, chosen, from, to) => loaded?.snippet(template)(view, chosen, from, to);
  return { ...completion, apply };
}

export function completeFromList(list: readonly (string | Completion)[]): CompletionSource {
  return later((known) => known.completeFromList(list));
}

export function ifNotIn(nodes: readonly string[], source: CompletionSource): CompletionSource {
  return later((known) => known.ifNotIn(nodes, source));
}

function later(make: (known: Loaded) => CompletionSource): CompletionSource {
  let source: CompletionSource | null = null;
  return (context: CompletionContext): ReturnType<CompletionSource> | CompletionResult | null => {
    if (loaded === null) return null;
    source ??= make(loaded);
    return source(context);
  };
}
