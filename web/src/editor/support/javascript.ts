// The tags of JSX.
import type { Completion, CompletionSource } from "@codemirror/autocomplete";
import { javascriptLanguage } from "@codemirror/lang-javascript";

import { isWelcome } from "../completion";

const TAGS =
  "a article aside audio b br button canvas circle code dd details dialog div dl dt em fieldset figcaption figure footer " +
  "form g h1 h2 h3 h4 header hr i iframe img input label legend li line link main meter nav ol optgroup option output p " +
  "path pre progress rect script section select small span strong style sub summary sup svg table tbody td textarea " +
  "tfoot th thead time tr u ul video";

/** After `<` and `</`. */
const tags: CompletionSource = (context) => {
  const before = context.matchBefore(/<\/?[a-z]\w*/);
  if (before === null || !isWelcome(context, before.from)) return null;
  const options = TAGS.split(" ").map((label): Completion => ({ label, type: "type" }));
  return { from: before.from + before.text.search(/\w/), options, validFor: /^\w*$/ };
};

/** For files whose ending says that they hold JSX. */
export const support = (path: string) =>
  /x$/i.test(path) ? javascriptLanguage.data.of({ autocomplete: tags }) : [];
