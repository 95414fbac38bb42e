// The completions while a person types: those of the grammar, the words of the
// language, and the words of the file.

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
    // Before the keys of the package, which take Escape even while a list is loading or empty.
    { key: "Escape", run: giveUpUnseen },
    // The key of Run: a list would cover the output.
    { key: "Mod-Enter", run: close },
    // Before the key that indents.
    { key: "Tab", run: take },
  ])),
  // Enter accepts a word that an arrow key has chosen. Otherwise it begins a line: the word may be complete.
  autocompletion({ icons: false, selectOnOpen: false }),
  EditorState.languageData.of(() => everywhere),
];

/**
 * Offers completions as if a character had been typed. An explicit request would offer them after one letter,
 * and in prose, too.
 */
export function offer(view: EditorView): void {
  if (view.hasFocus) view.dispatch({ userEvent: "input.type" });
}

// The same value each time: the open list identifies its sources by it.
const everywhere = [{ autocomplete: wordsOfFile }];

/** A list that is visible and up to date, not one that waits for new results. */
const OFFERED = ".cm-tooltip-autocomplete:not(.cm-tooltip-autocomplete-disabled)";

/** Closes an invisible list, and lets other handlers have Escape. */
function giveUpUnseen(view: EditorView): false {
  if (view.dom.querySelector(OFFERED) === null) closeCompletion(view);
  return false;
}

/** Closes the list, and lets other handlers have the key. */
function close(view: EditorView): false {
  closeCompletion(view);
  return false;
}

/** Accepts the chosen word, or else the first. */
function take(view: EditorView): boolean {
  if (completionStatus(view.state) !== "active") return false;
  if (selectedCompletionIndex(view.state) === null) view.dispatch({ effects: setSelectedCompletion(0) });
  return acceptCompletion(view);
}

/** The letters of a word. */
export const LETTERS = /[\p{Alphabetic}\p{Number}_]*/u;
/** A word, with a sign before it that makes it a member or a variable. */
const WORD = new RegExp(`(?:[.$@]|->|::)?${LETTERS.source}`, "u");
/** The name before a dot, the dot, and the first letters of a member. A line may begin with the dot. */
const MEMBER = /(?:([\p{Alphabetic}\p{Number}_$]+)|[)\]}"'`]|^)\s*(\??\.|->|::)((?:[\p{Alphabetic}_][\p{Alphabetic}\p{Number}_]*)?)$/u;

/**
 * The members that a language lists for what stands before the dot, of which the first letters begin at `from`;
 * `null` if it is not known. Language data gives it as `members`.
 */
export type MemberSource = (
  context: CompletionContext,
  from: number,
) => CompletionResult | null | Promise<CompletionResult | null>;

/** Offers words, given with spaces between them, wherever a word of the language may begin. */
export function offering(words: string, type: "keyword" | "function" | "type"): CompletionSource {
  const options = wordsIn(words, type);
  return (context) => {
    const word = context.matchBefore(WORD);
    if (word !== null && /^[^\p{Alphabetic}_]/u.test(word.text)) return null;
    const from = word?.from ?? context.pos;
    return isWelcome(context, from) ? { from, options, validFor: LETTERS } : null;
  };
}

/** The words of a list in a language's definition. */
export function wordsIn(list: string | undefined, type: "keyword" | "function" | "type" | "method"): Completion[] {
  return (list ?? "").split(/\s+/).filter((word) => word !== "").map((label) => ({ label, type }));
}

/** The completions of a grammar, but not after a dot or a single letter, which the grammar does not check. */
export function welcome(source: CompletionSource): CompletionSource {
  return (context) => {
    const letters = context.matchBefore(LETTERS);
    return isMember(context) || !isWelcome(context, letters?.from ?? context.pos) ? null : source(context);
  };
}

/** Whether completions help: they would disturb after one letter, and in prose. */
export function isWelcome(context: CompletionContext, from: number): boolean {
  return context.explicit || (context.pos - from >= 2 && !isProse(context));
}

function isProse(context: CompletionContext): boolean {
  return /comment|string|^(?:JSX)?Text$/i.test(nodeBefore(context));
}

function isMember(context: CompletionContext): boolean {
  // In CSS a class follows a dot, too.
  return context.matchBefore(MEMBER) !== null && !/^Class/.test(nodeBefore(context));
}

function nodeBefore({ state, pos }: CompletionContext): string {
  return syntaxTree(state).resolveInner(pos, -1).name;
}

function wordsOfFile(context: CompletionContext): ReturnType<CompletionSource> {
  if (isMember(context)) return members(context);
  const found = completeAnyWord(context);
  if (found === null || "then" in found || !isWelcome(context, found.from)) return null;
  // Without a type, a word that the language has too is listed once.
  const options = found.options.filter(({ label }) => !/^\d/.test(label)).map(({ label }) => ({ label }));
  return { ...found, options };
}

/** Those that the language lists or, if it does not know what stands before the dot, those of the file. */
function members(context: CompletionContext): ReturnType<CompletionSource> {
  const { pos, state } = context;
  const [, name = "", dot = "", typed = ""] = MEMBER.exec(context.matchBefore(MEMBER)?.text ?? "") ?? [];
  const [listed] = state.languageDataAt<MemberSource>("members", pos, -1);
  // A number that is being typed has no members.
  const isOpen = /^\p{Number}/u.test(name) || (isProse(context) && !context.explicit);
  const ofFile = () => membersOfFile(context, { name, dot, typed });
  if (listed === undefined || isOpen) return ofFile();
  const found = listed(context, pos - typed.length);
  return found instanceof Promise ? found.then((result) => result ?? ofFile()) : (found ?? ofFile());
}

/** The members that follow the same name elsewhere in the file. */
function membersOfFile(
  context: CompletionContext,
  { name, dot, typed }: { name: string; dot: string; typed: string },
): CompletionResult | null {
  const { pos, state } = context;
  const from = pos - typed.length;
  if (name === "" || !isWelcome(context, from)) return null;
  const owner = (name + dot).replace(/[$?.]/g, "\\$&");
  const member = new RegExp(`(?<![\\p{Alphabetic}\\p{Number}_$])${owner}([\\p{Alphabetic}_]${LETTERS.source})`, "gu");
  // Except the one that is being typed.
  const others = [...state.sliceDoc().matchAll(member)].filter((found) => found.index + found[0].length !== pos);
  const options = [...new Set(others.map(([, label = ""]) => label))].map((label) => ({ label }));
  return { from, options, validFor: LETTERS };
}
