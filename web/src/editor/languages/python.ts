// Python.
import { pythonLanguage } from "@codemirror/lang-python";

export const extension = () => pythonLanguage;
