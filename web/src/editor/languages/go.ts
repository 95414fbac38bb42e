// Go, by a stream parser.
import { StreamLanguage } from "@codemirror/language";
import { go } from "@codemirror/legacy-modes/mode/go";

export const language = StreamLanguage.define(go);

export const extension = () => language;
