// Ruby, by a stream parser.
import { StreamLanguage } from "@codemirror/language";
import { ruby } from "@codemirror/legacy-modes/mode/ruby";

// Its own list of words would be offered in strings and comments too.
const { autocomplete: _, ...languageData } = ruby.languageData ?? {};
export const language = StreamLanguage.define({ ...ruby, languageData });

export const extension = () => language;
