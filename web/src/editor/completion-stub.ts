// Replaces @codemirror/autocomplete in the grammars (vite.config.ts), so that
// typing does not wait for it. Only the real package, which is loaded later, asks
// grammars for completions.

import type { Completion, CompletionContext, CompletionResult, CompletionSource } from "@codemirror/autocomplete";

type Loaded = Pick<typeof import("@codemirror/autocomplete"), "completeFromList" | "ifNotIn" | "snippet">;

let loaded: Loaded | null = null;

/** To be called before completions are requested. */
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
