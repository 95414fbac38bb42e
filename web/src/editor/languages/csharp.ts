// C#: the stream parser is a sixth of the size of the grammar.
import { StreamLanguage } from "@codemirror/language";
import { csharp } from "@codemirror/legacy-modes/mode/clike";

import { offering } from "../completion";

const KEYWORDS =
  "abstract and as async await base bool break byte case catch char checked class const continue decimal default " +
  "delegate do double else enum event explicit extern false file finally fixed float for foreach from get global goto " +
  "group if implicit in init int interface internal into is join let lock long nameof namespace new not null object " +
  "operator or orderby out override params partial private protected public readonly record ref required return " +
  "sbyte scoped sealed select set short sizeof static string struct switch this throw true try typeof uint ulong " +
  "unchecked unsafe ushort using value var virtual void volatile when where while with yield";
const TYPES =
  "Console WriteLine ReadLine Write Math List Dictionary HashSet Queue Stack IEnumerable Array String StringBuilder " +
  "DateTime TimeSpan Random Task Func Action Tuple Exception ArgumentException InvalidOperationException System " +
  "ToString Where Select OrderBy GroupBy ToList ToArray Count Length";

export const extension = () => {
  // Its own list of words is offered in strings and comments too.
  const { autocomplete: _, ...data } = csharp.languageData ?? {};
  const language = StreamLanguage.define({ ...csharp, languageData: data });
  const sources = [offering(KEYWORDS, "keyword"), offering(TYPES, "type")];
  return [language, sources.map((autocomplete) => language.data.of({ autocomplete }))];
};
