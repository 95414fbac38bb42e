// What is offered while a person types: what the grammar of the language knows,
// its keywords, and the words that the file has already.

import {
  acceptCompletion,
  autocompletion,
  closeCompletion,
  completeAnyWord,
  completionStatus,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  type CompletionSource,
  selectedCompletionIndex,
  setSelectedCompletion,
} from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import { EditorState, Prec, type Extension } from "@codemirror/state";
import { keymap, type EditorView } from "@codemirror/view";

export const completion: Extension = [
  Prec.highest(keymap.of([
    // Before its own keys: those give Escape no other meaning while a list is looked for, or has nothing to offer.
    { key: "Escape", run: giveUpUnseen },
    // Before the key that indents.
    { key: "Tab", run: take },
  ])),
  // Enter takes what an arrow key has chosen, and begins a line else: a word may be whole already.
  autocompletion({ icons: false, selectOnOpen: false }),
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

/** Takes what is chosen, or else the first. */
function take(view: EditorView): boolean {
  if (completionStatus(view.state) !== "active") return false;
  if (selectedCompletionIndex(view.state) === null) view.dispatch({ effects: setSelectedCompletion(0) });
  return acceptCompletion(view);
}

const LETTERS = /[\p{Alphabetic}\p{Number}_]*/u;
/** What makes something else of the letters after it than a word of the language. */
const WORD = new RegExp(`(?:[.$@]|->|::)?${LETTERS.source}`, "u");
/** The name before a dot, the dot, and the first letters of a member. */
const MEMBER = /(?:([\p{Alphabetic}\p{Number}_$]+)|[)\]}"'`])\s*(\??\.|->|::)((?:[\p{Alphabetic}_][\p{Alphabetic}\p{Number}_]*)?)$/u;

/** Offers words, which stand between spaces, wherever a word of the language may begin. */
export function offering(words: string, type: "keyword" | "function" | "type" | "method"): CompletionSource {
  const options = words.trim().split(/\s+/).map((label): Completion => ({ label, type }));
  return (context) => {
    const word = context.matchBefore(WORD);
    if (word !== null && /^[^\p{Alphabetic}_]/u.test(word.text)) return null;
    const from = word?.from ?? context.pos;
    return isWelcome(context, from) ? { from, options, validFor: LETTERS } : null;
  };
}

/** What the source of a grammar offers, but for members and single letters: it looks for neither. */
export function welcome(source: CompletionSource): CompletionSource {
  return (context) => {
    const letters = context.matchBefore(LETTERS);
    return isMember(context) || !isWelcome(context, letters?.from ?? context.pos) ? null : source(context);
  };
}

/** After one letter, or in prose, what is offered would be in the way. */
export function isWelcome(context: CompletionContext, from: number): boolean {
  return context.explicit || (context.pos - from >= 2 && !/comment|string|^(?:JSX)?Text$/i.test(nodeBefore(context)));
}

function isMember(context: CompletionContext): boolean {
  // The class of a rule of CSS follows a dot, too.
  return context.matchBefore(MEMBER) !== null && !/^Class/.test(nodeBefore(context));
}

function nodeBefore({ state, pos }: CompletionContext): string {
  return syntaxTree(state).resolveInner(pos, -1).name;
}

function wordsOfFile(context: CompletionContext): CompletionResult | null {
  if (isMember(context)) return membersOfFile(context);
  const found = completeAnyWord(context);
  if (found === null || "then" in found || !isWelcome(context, found.from)) return null;
  // Without a type: then a word that the language knows too is there once.
  const options = found.options.filter(({ label }) => !/^\d/.test(label)).map(({ label }) => ({ label }));
  return { ...found, options };
}

/** What follows the same name elsewhere in the file: its other words need not be members. */
function membersOfFile(context: CompletionContext): CompletionResult | null {
  const { pos, state } = context;
  const [, name = "", dot = "", typed = ""] = MEMBER.exec(context.matchBefore(MEMBER)?.text ?? "") ?? [];
  const from = pos - typed.length;
  if (name === "" || !isWelcome(context, from)) return null;
  const owner = (name + dot).replace(/[$?.]/g, "\\$&");
  const member = new RegExp(`(?<![\\p{Alphabetic}\\p{Number}_$])${owner}([\\p{Alphabetic}_]${LETTERS.source})`, "gu");
  // Not the one that is being typed.
  const others = [...state.sliceDoc().matchAll(member)].filter((found) => found.index + found[0].length !== pos);
  const options = [...new Set(others.map(([, label = ""]) => label))].map((label) => ({ label }));
  return { from, options, validFor: LETTERS };
}
