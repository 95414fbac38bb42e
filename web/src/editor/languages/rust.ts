// Rust, by a stream parser.
import { StreamLanguage } from "@codemirror/language";
import { rust } from "@codemirror/legacy-modes/mode/rust";

export const language = StreamLanguage.define(rust);

export const extension = () => language;
