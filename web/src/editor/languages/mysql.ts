// The SQL of MySQL.
import { MySQL, sql } from "@codemirror/lang-sql";

export const extension = () => sql({ dialect: MySQL, upperCaseKeywords: true });
