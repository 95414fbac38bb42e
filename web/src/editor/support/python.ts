// What the package of Python offers, and the keywords that it does not.
import { globalCompletion, localCompletionSource, pythonLanguage } from "@codemirror/lang-python";

import { offering, welcome } from "../completion";

const KEYWORDS =
  "and as assert async await break case continue del elif else except finally global in is lambda match nonlocal not or " +
  "pass raise return with yield";

export const support = () =>
  [welcome(localCompletionSource), welcome(globalCompletion), offering(KEYWORDS, "keyword")].map((autocomplete) =>
    pythonLanguage.data.of({ autocomplete }),
  );
