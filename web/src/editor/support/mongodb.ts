// The methods of databases, collections and cursors in mongosh, and the
// operators of queries.
import type { Completion, CompletionSource } from "@codemirror/autocomplete";
import { javascriptLanguage } from "@codemirror/lang-javascript";

import { isWelcome, wordsIn } from "../completion";

export function support(_path: string, words: Readonly<Record<string, string>>) {
  const sources = [members(words), operators(wordsIn(words["operators"], "keyword"))];
  return sources.map((autocomplete) => javascriptLanguage.data.of({ autocomplete }));
}

/** After a dot, depending on the expression before it. */
function members(words: Readonly<Record<string, string>>): CompletionSource {
  const [ofDatabase = [], ofCollection = [], ofCursor = []] =
    ["database", "collection", "cursor"].map((name) => wordsIn(words[name], "method"));
  return (context) => {
    const before = context.matchBefore(/[\w$)\]"'.]+\.\w*/);
    if (before === null || !isWelcome(context, before.from)) return null;
    const from = before.from + before.text.lastIndexOf(".") + 1;
    const owner = before.text.slice(0, before.text.lastIndexOf("."));
    const validFor = /^\w*$/;
    if (owner === "db") {
      const text = context.state.sliceDoc();
      const names = [...text.matchAll(/\bdb\.(\w+)\./g), ...text.matchAll(/Collection\(\s*["'](\w+)["']/g)];
      const collections = new Set(names.map(([, name = ""]) => name));
      const options = [...collections].map((label): Completion => ({ label, type: "variable" }));
      return { from, options: [...options, ...ofDatabase], validFor };
    }
    if (/^db\.\w+$/.test(owner)) return { from, options: ofCollection, validFor };
    return owner.endsWith(")") ? { from, options: [...ofCursor, ...ofCollection], validFor } : null;
  };
}

function operators(options: Completion[]): CompletionSource {
  return (context) => {
    const word = context.matchBefore(/\$\w*/);
    if (word === null) return null;
    return isWelcome(context, word.from - 1) ? { from: word.from, options, validFor: /^\$\w*$/ } : null;
  };
}
