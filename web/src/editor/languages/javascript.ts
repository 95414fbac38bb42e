// JavaScript and TypeScript, with JSX if the ending of the file says so.
import { javascript } from "@codemirror/lang-javascript";

export const extension = (path: string) =>
  javascript({ jsx: /x$|\.js$/i.test(path), typescript: /\.tsx?$/i.test(path) });
