// The directives that tags of single-file components may have.
import type { Completion, CompletionSource } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";

import { wordsIn } from "../completion";

export function support(_path: string, words: Readonly<Record<string, string>>) {
  // The parser of attributes has no language data of its own, so this is for all code. The same value each time:
  // the open list knows its sources by it.
  const data = [{ autocomplete: directives(wordsIn(words["directives"], "keyword")) }];
  return EditorState.languageData.of(() => data);
}

/** Within a tag, after a space. */
function directives(options: Completion[]): CompletionSource {
  return (context) => {
    const before = context.matchBefore(/<\w[^<>]*\s(?:v-|[@:])[\w.-]*/);
    if (before === null) return null;
    const from = before.to - (/\S+$/.exec(before.text)?.[0].length ?? 0);
    return { from, options, validFor: /^[\w.@:-]*$/ };
  };
}
