// The keywords of MySQL, and the tables and columns that the file creates.
import type { CompletionContext, CompletionSource } from "@codemirror/autocomplete";
import { MySQL, keywordCompletionSource, schemaCompletionSource } from "@codemirror/lang-sql";

import { isWelcome, LETTERS, welcome } from "../completion";
import { columnsOf } from "../tables";

const keywords = welcome(keywordCompletionSource(MySQL, true));

/** Columns after the name or alias of a table; the names of tables elsewhere. */
const tables: CompletionSource = (context) => {
  const names = columnsOf(context.state.sliceDoc());
  if (Object.keys(names).length === 0 || !isOffered(context)) return null;
  return schemaCompletionSource({ dialect: MySQL, schema: names })(context);
};

function isOffered(context: CompletionContext): boolean {
  if (context.matchBefore(/[\p{Alphabetic}\p{Number}_$`]\.[\w$]*/u) !== null) return true;
  return isWelcome(context, context.matchBefore(LETTERS)?.from ?? context.pos);
}

export const support = () => [keywords, tables].map((autocomplete) => MySQL.language.data.of({ autocomplete }));
