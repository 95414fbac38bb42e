// C#. The stream parser has a sixth of the size of the grammar.
import { StreamLanguage } from "@codemirror/language";
import { csharp } from "@codemirror/legacy-modes/mode/clike";

// Its own list of words would be offered in strings and comments too.
const { autocomplete: _, ...languageData } = csharp.languageData ?? {};
export const language = StreamLanguage.define({ ...csharp, languageData });

export const extension = () => language;
