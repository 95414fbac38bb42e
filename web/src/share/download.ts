// Handing a file to the person.

import { element } from "../dom";

/** A large one may be asked about first, and is read only then. */
const READ_WITHIN_MS = 60_000;

export function download(name: string, content: BlobPart): void {
  // Not text/html or the like: it is to be kept, never opened here.
  const url = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), READ_WITHIN_MS);
}
