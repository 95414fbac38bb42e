// Python.
import { python } from "@codemirror/lang-python";

export const extension = () => python();
