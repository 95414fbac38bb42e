// Shell scripts, by a stream parser.
import { StreamLanguage } from "@codemirror/language";
import { shell } from "@codemirror/legacy-modes/mode/shell";

// Its own list of words would be offered in strings and comments too.
const { autocomplete: _, ...languageData } = shell.languageData ?? {};
export const language = StreamLanguage.define({ ...shell, languageData });

export const extension = () => language;
