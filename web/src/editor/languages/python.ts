// Python, with the keywords that its package does not offer.
import { python, pythonLanguage } from "@codemirror/lang-python";

import { offering } from "../completion";

const KEYWORDS =
  "and as assert async await break case continue del elif else except finally global in is lambda match nonlocal not or " +
  "pass raise return with yield";

export const extension = () => [python(), pythonLanguage.data.of({ autocomplete: offering(KEYWORDS, "keyword") })];
