// Downloads a file.

import { element } from "../dom";

/** The browser may ask about a large file before it reads it. */
const READ_WITHIN_MS = 60_000;

export function download(name: string, content: BlobPart): void {
  // Not text/html or the like: the browser must save it, not open it.
  const url = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), READ_WITHIN_MS);
}
