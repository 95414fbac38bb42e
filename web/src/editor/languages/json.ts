// JSON.
import { json } from "@codemirror/lang-json";

export const extension = () => json();
