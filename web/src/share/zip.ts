// The files as a zip archive; loaded when someone asks for it.

import { strToU8, zipSync } from "fflate";

import type { SourceFile } from "../workspace";

export function zip(files: readonly Readonly<SourceFile>[]): Uint8Array<ArrayBuffer> {
  const entries = files.map(({ path, content }) => [path, strToU8(content)] as const);
  // A copy on an own buffer, as Blob wants it.
  return new Uint8Array(zipSync(Object.fromEntries(entries)));
}
