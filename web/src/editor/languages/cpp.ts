// C and C++.
import { cpp } from "@codemirror/lang-cpp";

export const extension = () => cpp();
