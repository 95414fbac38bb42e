// The completions of the package for Python.
import { globalCompletion, localCompletionSource, pythonLanguage } from "@codemirror/lang-python";

import { welcome } from "../completion";

export const support = () =>
  [localCompletionSource, globalCompletion].map((source) => pythonLanguage.data.of({ autocomplete: welcome(source) }));
