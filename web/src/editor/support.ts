// Completion, brackets that close themselves, search, and marks. They are
// loaded after the editor: code can be typed without them.

import { closeBrackets, closeBracketsKeymap, completeFromList, ifNotIn, snippet } from "@codemirror/autocomplete";
import { type Language, LanguageSupport } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { keymap } from "@codemirror/view";

import type { LanguageSettings } from "../config";
import { t, type Key } from "../messages";
import { endingOf } from "../workspace";
import { completion, offering } from "./completion";
import { provideCompletion } from "./completion-stub";
import { grammarCalled, grammarName, type Grammar } from "./languages";
import type { Completions } from "./members/completions";

interface Module {
  support: (path: string, words: Readonly<Record<string, string>>) => Extension;
}

/** Modules with completions that depend on the context, named after a grammar or by the settings. */
const MODULES = import.meta.glob<Module>("./support/*.ts");

/** The words of CodeMirror. */
const PHRASES: Readonly<Record<string, Key>> = {
  "Find": "editor.find",
  "next": "editor.next",
  "previous": "editor.previous",
  "all": "editor.select-all",
  "match case": "editor.match-case",
  "by word": "editor.whole-word",
  "regexp": "editor.regexp",
  "Replace": "editor.replace",
  "replace": "editor.replace",
  "replace all": "editor.replace-all",
  "close": "start.close",
  "current match": "editor.current-match",
  "on line": "editor.on-line",
  "replaced $ matches": "editor.replaced",
  "replaced match on line $": "editor.replaced-on-line",
  "Go to line": "editor.go-to-line",
  "go": "editor.go",
  "Completions": "editor.completions",
  "Diagnostics": "editor.diagnostics",
  "No diagnostics": "editor.no-diagnostics",
  "Control character": "editor.control-character",
  "Selection deleted": "editor.selection-deleted",
  "Folded lines": "editor.folded-lines",
  "Unfolded lines": "editor.unfolded-lines",
  "to": "editor.to",
  "folded code": "editor.folded-code",
  "unfold": "editor.unfold",
};

provideCompletion({ completeFromList, ifNotIn, snippet });

/** For every file. */
export const support = (): Extension => [
  lintGutter(),
  completion,
  closeBrackets(),
  highlightSelectionMatches(),
  EditorState.phrases.of(Object.fromEntries(Object.entries(PHRASES).map(([phrase, key]) => [phrase, t(key)]))),
  keymap.of([...closeBracketsKeymap, ...searchKeymap, ...lintKeymap]),
];

/** The grammars of the code in which members follow a dot, if it is not all code of a file. */
const SCRIPTS: ReadonlyMap<string, string | null> = new Map([["html", "javascript"], ["vue", "javascript"], ["css", null]]);

/** The completions of the file at `path` in a page with these settings, and with the completions that it loads. */
export async function supportOf(
  path: string,
  settings: LanguageSettings,
  completions: Completions | null = null,
): Promise<Extension> {
  const grammar = grammarName(path, settings);
  const isOwn = settings.extensions.includes(endingOf(path)) || Object.values(settings.grammars).some((own) => own === grammar);
  const name = (isOwn ? settings.completion.module : undefined) ?? grammar;
  const module = name === null ? undefined : await MODULES[`./support/${name}.ts`]?.();
  const loaded = grammar === null ? null : await grammarCalled(grammar, path);
  return [
    module?.support(path, (isOwn ? settings.completion.words : undefined) ?? {}) ?? [],
    isOwn ? words(settings, loaded, completions) : [],
    completions === null ? [] : await members(loaded === null ? null : grammar, isOwn, settings, completions),
  ];
}

/** The words and snippets of the language. */
function words(settings: LanguageSettings, grammar: Grammar | null, completions: Completions | null): Extension {
  const { keywords, functions, types } = settings.completion;
  const sources = [
    keywords === undefined ? [] : offering(keywords, "keyword"),
    functions === undefined ? [] : offering(functions, "function"),
    types === undefined ? [] : offering(types, "type"),
    completions === null ? [] : completions.snippets,
  ].flat();
  if (grammar === null) {
    // The same value each time: the open list knows its sources by it.
    const data = sources.map((autocomplete) => ({ autocomplete }));
    return EditorState.languageData.of(() => data);
  }
  // In code of the language, but not in code around it, such as HTML around PHP.
  return sources.map((autocomplete) => dataOf(grammar).of({ autocomplete }));
}

/** The members that the language lists, in its own code and that of its pages' scripts. */
async function members(
  grammar: string | null,
  isOwn: boolean,
  settings: LanguageSettings,
  completions: Completions,
): Promise<Extension> {
  const data = [{ members: completions.members }];
  if (grammar === null) return isOwn ? EditorState.languageData.of(() => data) : [];
  const scriptOf = (name: string) => (SCRIPTS.has(name) ? SCRIPTS.get(name) : name) ?? null;
  const name = scriptOf(grammar);
  if (name === null || !Object.values(settings.grammars).map(scriptOf).includes(name)) return [];
  const script = await grammarCalled(name, "");
  return script === null ? [] : dataOf(script).of({ members: completions.members });
}

function dataOf(grammar: Grammar): Language["data"] {
  return (grammar instanceof LanguageSupport ? grammar.language : grammar).data;
}
