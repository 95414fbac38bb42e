// What code can be typed without for a moment: completion, brackets that close
// themselves, search, and marks.

import { closeBrackets, closeBracketsKeymap, completeFromList, ifNotIn, snippet } from "@codemirror/autocomplete";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import type { Extension } from "@codemirror/state";
import { keymap } from "@codemirror/view";

import { completion } from "./completion";
import { provideCompletion } from "./completion-stub";
import { grammarName, type GrammarName } from "./languages";

type Support = () => Promise<{ support: (path: string) => Extension }>;

const SUPPORT: Readonly<Partial<Record<GrammarName | "mongodb", Support>>> = {
  python: () => import("./support/python"),
  cpp: () => import("./support/cpp"),
  java: () => import("./support/java"),
  php: () => import("./support/php"),
  csharp: () => import("./support/csharp"),
  mysql: () => import("./support/mysql"),
  mongodb: () => import("./support/mongodb"),
  javascript: () => import("./support/javascript"),
  vue: () => import("./support/vue"),
};

provideCompletion({ completeFromList, ifNotIn, snippet });

/** For every file. */
export const support: Extension = [
  lintGutter(),
  completion,
  closeBrackets(),
  highlightSelectionMatches(),
  keymap.of([...closeBracketsKeymap, ...searchKeymap, ...lintKeymap]),
];

/** What is known besides of the language of the file at `path`, in a page of `language`. */
export async function supportOf(path: string, language: string): Promise<Extension> {
  const name = grammarName(path);
  const known = name === "javascript" && language === "mongodb" ? "mongodb" : name;
  const found = known === null ? undefined : await SUPPORT[known]?.();
  return found?.support(path) ?? [];
}
