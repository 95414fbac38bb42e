// The files that a run left, as the server describes them.

import { isRecord } from "../store/snapshot";

/** A file that the run left or showed. */
export interface Artifact {
  path: string;
  /** Its number among the files that the program showed. */
  display?: number;
  /** The media type. */
  type: string;
  /** In bytes. */
  size: number;
  encoding: "utf8" | "base64";
  content: string;
}

export interface Left {
  artifacts: readonly Artifact[];
  /** The files that were not sent, each with the reason in a word. */
  skipped: readonly { path: string; reason: string }[];
}

/** The files in an answer of `/api/run`. */
export function leftIn(body: Readonly<Record<string, unknown>> | null): Left {
  return {
    artifacts: listOf(body?.["artifacts"]).flatMap((value) => artifactOf(value) ?? []),
    skipped: listOf(body?.["skipped"]).flatMap((value) => {
      if (!isRecord(value)) return [];
      const { path, reason } = value;
      return typeof path === "string" && typeof reason === "string" ? [{ path, reason }] : [];
    }),
  };
}

/** The file; `null` for any other value. */
export function artifactOf(value: unknown): Artifact | null {
  if (!isRecord(value)) return null;
  const { path, display, type, size, encoding, content } = value;
  if (typeof path !== "string" || typeof type !== "string" || typeof content !== "string") return null;
  if (typeof size !== "number" || (encoding !== "utf8" && encoding !== "base64")) return null;
  return { path, type, size, encoding, content, ...(typeof display === "number" ? { display } : {}) };
}

/** Whether it is the recording of how a picture was drawn. */
export function isRecording({ type, display }: Artifact): boolean {
  return type === "application/json" && display !== undefined;
}

/** The bytes of the file. */
export function bytesOf({ encoding, content }: Artifact): Uint8Array<ArrayBuffer> {
  if (encoding === "utf8") return new TextEncoder().encode(content);
  return Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
}

/** The media types of texts. */
const TEXTS = /^text\/|[/+]json$/;

/** The text of the file; `null` for any other. A text with control characters, such as those of colours, comes as base64. */
export function textOf(artifact: Artifact): string | null {
  const { type, encoding, content } = artifact;
  if (encoding === "utf8") return content;
  if (!TEXTS.test(type)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytesOf(artifact));
  } catch {
    return null;
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
