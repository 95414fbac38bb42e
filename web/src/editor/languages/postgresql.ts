// The SQL of PostgreSQL. A dialect of the package of MySQL's would make the chunk of
// MySQL larger, too.
import { StreamLanguage } from "@codemirror/language";
import { pgSQL } from "@codemirror/legacy-modes/mode/sql";

export const language = StreamLanguage.define(pgSQL);

export const extension = () => language;
