// The texts that share the code or embed the page.

import type { ThemeChoice } from "../config";
import { t } from "../messages";

/** A link to the page with the code in its fragment. */
export function shareUrl(page: string, language: string, fragment: string): string {
  const url = new URL("?", page);
  url.searchParams.set("lang", language);
  url.hash = fragment;
  return url.href;
}

export interface SnippetOptions {
  /** The address of this page. */
  page: string;
  language: string;
  title: string;
  theme: ThemeChoice;
  readonly: boolean;
  height: number;
  /** The code; `null` for the starter of the language. */
  fragment: string | null;
}

/** The element that embeds the page into another. */
export function iframeSnippet(options: SnippetOptions): string {
  const url = new URL("?", options.page);
  url.searchParams.set("lang", options.language);
  if (options.theme !== "auto") url.searchParams.set("theme", options.theme);
  if (options.readonly) url.searchParams.set("readonly", "1");
  if (options.fragment !== null) url.hash = options.fragment;
  const attributes = {
    src: url.href,
    title: t("page.title", { title: options.title }),
    width: "100%",
    height: String(options.height),
    loading: "lazy",
    allow: "clipboard-write; fullscreen",
    style: "border:0",
  };
  const written = Object.entries(attributes).map(([name, value]) => ` ${name}="${attribute(value)}"`);
  return `<iframe${written.join("")}></iframe>`;
}

/** The name of a download of the file or files. */
export function downloadName(language: string, paths: readonly string[]): string {
  const [only] = paths;
  return paths.length === 1 && only !== undefined ? only.slice(only.lastIndexOf("/") + 1) : `${language}.zip`;
}

function attribute(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
