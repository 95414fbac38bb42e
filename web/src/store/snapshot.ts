// Checks snapshots that come from outside: from a link, the embedding page or
// storage.

import { faultOfPath, visibleOf, type Snapshot, type SourceFile } from "../workspace";

/** The limit of the service. */
const MAX_FILES = 200;
/** Of all files, the input and the expected output, in UTF-16 units: the limit of the service for JSON is lower. */
const MAX_UNITS = 2 * 1024 * 1024;
/** Of the names of a file's locked lines. */
const MAX_LINES_LENGTH = 1000;
/** The names of locked lines, with a comma behind each. */
const LINES = /^( *\d{1,7} *(- *(\d{1,7} *)?)?,)+$/;

export type Checked<T> = { value: T; fault: null } | { value: null; fault: string };

export function good<T>(value: T): Checked<T> {
  return { value, fault: null };
}

export function bad<T>(fault: string): Checked<T> {
  return { value: null, fault };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reads `{files: [{path, content, hidden?, locked?}], entryFile?, stdin?, expected?}`. A single file without a path gets the path `usualEntry`.
 * Without `entryFile`, the entry is the file `usualEntry` if there is one, else the first file.
 */
export function readSnapshot(value: unknown, usualEntry: string): Checked<Snapshot> {
  if (!isRecord(value)) return bad("The code must be an object with files.");
  const { files: given, entryFile, stdin, expected } = value;
  if (!Array.isArray(given) || given.length === 0) return bad("There must be at least one file.");
  if (given.length > MAX_FILES) return bad(`There are more than ${MAX_FILES} files.`);
  const files: SourceFile[] = [];
  for (const file of given as unknown[]) {
    if (!isRecord(file) || typeof file["content"] !== "string") return bad("A file must have content, a string.");
    const path = file["path"] ?? (given.length === 1 ? usualEntry : undefined);
    if (typeof path !== "string") return bad("A file must have a path, a string.");
    const fault = faultOfPath(path, files.map((other) => other.path));
    if (fault !== null) return bad(`${JSON.stringify(path.slice(0, 100))}: ${fault}`);
    const { value: authored, fault: wrong } = readAuthored(file);
    if (authored === null) return bad(`${JSON.stringify(path.slice(0, 100))}: ${wrong}`);
    files.push({ path, content: file["content"], ...authored });
  }
  if (visibleOf(files).length === 0) return bad("One file at least must not be hidden.");
  const usual = files.find((file) => file.path === usualEntry) ?? files[0];
  const entry = entryFile ?? usual?.path;
  if (typeof entry !== "string" || !files.some((file) => file.path === entry)) {
    return bad("entryFile must be the path of one of the files.");
  }
  if (stdin !== undefined && typeof stdin !== "string") return bad("stdin must be a string.");
  if (expected !== undefined && typeof expected !== "string") return bad("expected must be a string.");
  const input = stdin ?? "";
  const besides = input.length + (expected?.length ?? 0);
  const units = files.reduce((sum, file) => sum + file.path.length + file.content.length, besides);
  if (units > MAX_UNITS) return bad("The files are too large.");
  return good({ entryFile: entry, files, stdin: input, ...(expected === undefined ? {} : { expected }) });
}

/** The restrictions of a file. */
function readAuthored({ hidden, locked }: Readonly<Record<string, unknown>>): Checked<Partial<SourceFile>> {
  if (hidden !== undefined && typeof hidden !== "boolean") return bad("hidden must be true or false.");
  if (hidden === true) return good({ hidden });
  if (locked === undefined || locked === false) return good({});
  const isRight = locked === true || (typeof locked === "string" && locked.length <= MAX_LINES_LENGTH && LINES.test(`${locked},`));
  return isRight ? good({ locked }) : bad("locked must be true, or lines such as 1-3,10-.");
}

export function sameSnapshot(one: Snapshot, other: Snapshot): boolean {
  const sameFile = (file: SourceFile, index: number) =>
    file.path === other.files[index]?.path && file.content === other.files[index]?.content;
  return (
    one.entryFile === other.entryFile &&
    one.stdin === other.stdin &&
    one.files.length === other.files.length &&
    one.files.every(sameFile)
  );
}
