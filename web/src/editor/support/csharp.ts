// The keywords of C#, and the names that first programs use.
import { offering } from "../completion";
import { language } from "../languages/csharp";

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

export const support = () => [
  language.data.of({ autocomplete: offering(KEYWORDS, "keyword") }),
  language.data.of({ autocomplete: offering(TYPES, "type") }),
];
