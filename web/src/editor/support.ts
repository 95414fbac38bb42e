// Completion, brackets that close themselves, search, and marks. They are
// loaded after the editor: code can be typed without them.

import { closeBrackets, closeBracketsKeymap, completeFromList, ifNotIn, snippet } from "@codemirror/autocomplete";
import { LanguageSupport } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { keymap } from "@codemirror/view";

import type { LanguageSettings } from "../config";
import { endingOf } from "../workspace";
import { completion, offering } from "./completion";
import { provideCompletion } from "./completion-stub";
import { grammarName, grammarOf } from "./languages";

/** Modules with completions that depend on the context, named after a grammar or by the settings. */
const MODULES = import.meta.glob<{ support: (path: string) => Extension }>("./support/*.ts");

/** Names of the search panel, in the case of all other buttons. */
const PHRASES = {
  "next": "Next",
  "previous": "Previous",
  "all": "Select all",
  "match case": "Match case",
  "by word": "Whole word",
  "regexp": "Regular expression",
  "replace": "Replace",
  "replace all": "Replace all",
  "close": "Close",
};

provideCompletion({ completeFromList, ifNotIn, snippet });

/** For every file. */
export const support: Extension = [
  lintGutter(),
  completion,
  closeBrackets(),
  highlightSelectionMatches(),
  EditorState.phrases.of(PHRASES),
  keymap.of([...closeBracketsKeymap, ...searchKeymap, ...lintKeymap]),
];

/** The completions of the file at `path` in a page with these settings. */
export async function supportOf(path: string, settings: LanguageSettings): Promise<Extension> {
  const grammar = grammarName(path, settings);
  const isOwn = settings.extensions.includes(endingOf(path)) || Object.values(settings.grammars).some((own) => own === grammar);
  const name = (isOwn ? settings.completion.module : undefined) ?? grammar;
  const module = name === null ? undefined : await MODULES[`./support/${name}.ts`]?.();
  return [module?.support(path) ?? [], isOwn ? await words(path, settings) : []];
}

/** The words of the settings. */
async function words(path: string, settings: LanguageSettings): Promise<Extension> {
  const { keywords, functions, types } = settings.completion;
  const sources = [
    keywords === undefined ? [] : offering(keywords, "keyword"),
    functions === undefined ? [] : offering(functions, "function"),
    types === undefined ? [] : offering(types, "type"),
  ].flat();
  const grammar = await grammarOf(path, settings);
  if (grammar === null) {
    // The same value each time: the open list knows its sources by it.
    const data = sources.map((autocomplete) => ({ autocomplete }));
    return EditorState.languageData.of(() => data);
  }
  // In code of the language, but not in code around it, such as HTML around PHP.
  const { data } = grammar instanceof LanguageSupport ? grammar.language : grammar;
  return sources.map((autocomplete) => data.of({ autocomplete }));
}
