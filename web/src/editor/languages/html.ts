// HTML with the styles and scripts in it.
import { html } from "@codemirror/lang-html";

export const extension = () => html();
