// Single-file components.
import { vue } from "@codemirror/lang-vue";

export const extension = () => vue();
