// The keywords of Python that its package does not offer.
import { pythonLanguage } from "@codemirror/lang-python";

import { offering } from "../completion";

const KEYWORDS =
  "and as assert async await break case continue del elif else except finally global in is lambda match nonlocal not or " +
  "pass raise return with yield";

export const support = () => pythonLanguage.data.of({ autocomplete: offering(KEYWORDS, "keyword") });
