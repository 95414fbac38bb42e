// The files as a zip archive; loaded when it is needed.

import { strToU8, Zip, ZipDeflate } from "fflate";

interface ZipFile {
  path: string;
  content: string | Uint8Array;
}

/** Adds file by file: an object with all of them would lose one with the name `__proto__`. */
export function zip(files: readonly Readonly<ZipFile>[]): Blob {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const archive = new Zip((error, part) => {
    if (error !== null) throw error;
    // A copy on an own buffer, as Blob wants it.
    parts.push(new Uint8Array(part));
  });
  for (const { path, content } of files) {
    const entry = new ZipDeflate(path);
    archive.add(entry);
    entry.push(typeof content === "string" ? strToU8(content) : content, true);
  }
  archive.end();
  return new Blob(parts);
}
