// What the package of Python offers.
import { globalCompletion, localCompletionSource, pythonLanguage } from "@codemirror/lang-python";

import { welcome } from "../completion";

export const support = () =>
  [localCompletionSource, globalCompletion].map((source) => pythonLanguage.data.of({ autocomplete: welcome(source) }));
