// What is offered while a person types: what the grammar of the language knows,
// its keywords, and the words that the file has already.

import {
  autocompletion,
  closeCompletion,
  completeAnyWord,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  type CompletionSource,
} from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import { EditorState, Prec, type Extension } from "@codemirror/state";
import { keymap, type EditorView } from "@codemirror/view";

export const completion: Extension = [
  // Before its own keys: those give Escape no other meaning while a list is looked for, or has nothing to offer.
  Prec.highest(keymap.of([{ key: "Escape", run: giveUpUnseen }])),
  autocompletion({ icons: false }),
  EditorState.languageData.of(() => everywhere),
];

// The same value each time: the open list knows its sources by it.
const everywhere = [{ autocomplete: wordsOfFile }];

/** What is on the screen and can be taken: not what was offered for earlier letters, until it is known what now is. */
const OFFERED = ".cm-tooltip-autocomplete:not(.cm-tooltip-autocomplete-disabled)";

/** Ends what nobody sees, and leaves Escape to others. */
function giveUpUnseen(view: EditorView): false {
  if (view.dom.querySelector(OFFERED) === null) closeCompletion(view);
  return false;
}

/** Not a member of something, and not the rest of a name. */
const WORD = /(?<![\p{Alphabetic}\p{Number}_$@.]|->|::)[\p{Alphabetic}_][\p{Alphabetic}\p{Number}_]*/u;

/** Offers words, which stand between spaces, wherever a word of the language may begin. */
export function offering(words: string, type: "keyword" | "function" | "type" | "method"): CompletionSource {
  const options = words.split(/\s+/).map((label): Completion => ({ label, type }));
  return (context) => {
    const word = context.matchBefore(WORD);
    const from = word?.from ?? context.pos;
    return isWelcome(context, from) ? { from, options, validFor: /^[\p{Alphabetic}\p{Number}_]*$/u } : null;
  };
}

/** Enter takes what is offered: after one letter, or in prose, that would be in the way. */
export function isWelcome(context: CompletionContext, from: number): boolean {
  if (context.explicit) return true;
  const { name } = syntaxTree(context.state).resolveInner(context.pos, -1);
  return context.pos - from >= 2 && !/comment|string|^(?:JSX)?Text$/i.test(name);
}

function wordsOfFile(context: CompletionContext): CompletionResult | null {
  const found = completeAnyWord(context);
  if (found === null || "then" in found || !isWelcome(context, found.from)) return null;
  // Without a type: then a word that the language knows too is there once.
  const options = found.options.filter(({ label }) => !/^\d/.test(label)).map(({ label }) => ({ label }));
  return { ...found, options };
}
