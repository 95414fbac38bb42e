// The SQL of SQLite. A dialect of the package of MySQL's would make the chunk of
// MySQL larger, too.
import { StreamLanguage } from "@codemirror/language";
import { sqlite } from "@codemirror/legacy-modes/mode/sql";

export const language = StreamLanguage.define(sqlite);

export const extension = () => language;
