// The SQL of MySQL.
import { MySQL } from "@codemirror/lang-sql";

export const extension = () => MySQL.language;
