// PHP, and the HTML around it.
import { php } from "@codemirror/lang-php";

export const extension = () => php();
