// The directives that tags of single-file components may have.
import type { Completion, CompletionSource } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";

const DIRECTIVES =
  "v-if v-else v-else-if v-for v-show v-model v-bind v-on v-slot v-text v-html v-once v-memo v-cloak v-pre " +
  "@click @input @change @submit.prevent @keyup.enter :key :class :style :disabled";

/** Within a tag, after a space. */
const directives: CompletionSource = (context) => {
  const before = context.matchBefore(/<\w[^<>]*\s(?:v-|[@:])[\w.-]*/);
  if (before === null) return null;
  const from = before.to - (/\S+$/.exec(before.text)?.[0].length ?? 0);
  const options = DIRECTIVES.split(" ").map((label): Completion => ({ label, type: "keyword" }));
  return { from, options, validFor: /^[\w.@:-]*$/ };
};

// The parser of attributes has no language data of its own, so this is for all code.
const data = [{ autocomplete: directives }];

export const support = () => EditorState.languageData.of(() => data);
