// C#: the stream parser is a sixth of the size of the grammar.
import { StreamLanguage } from "@codemirror/language";
import { csharp } from "@codemirror/legacy-modes/mode/clike";

export const extension = () => StreamLanguage.define(csharp);
