// The keywords of MySQL.
import { MySQL, keywordCompletionSource } from "@codemirror/lang-sql";

import { welcome } from "../completion";

export const support = () => MySQL.language.data.of({ autocomplete: welcome(keywordCompletionSource(MySQL, true)) });
