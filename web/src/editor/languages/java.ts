// Java.
import { java } from "@codemirror/lang-java";

export const extension = () => java();
