// The tags of JSX.
import type { Completion, CompletionSource } from "@codemirror/autocomplete";
import { javascriptLanguage } from "@codemirror/lang-javascript";

import { isWelcome, wordsIn } from "../completion";

/** For files whose ending says that they hold JSX. */
export function support(path: string, words: Readonly<Record<string, string>>) {
  if (!/x$/i.test(path)) return [];
  return javascriptLanguage.data.of({ autocomplete: tags(wordsIn(words["tags"], "type")) });
}

/** After `<` and `</`. */
function tags(options: Completion[]): CompletionSource {
  return (context) => {
    const before = context.matchBefore(/<\/?[a-z]\w*/);
    if (before === null || !isWelcome(context, before.from)) return null;
    return { from: before.from + before.text.search(/\w/), options, validFor: /^\w*$/ };
  };
}
