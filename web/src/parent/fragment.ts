// Code in the fragment of the URL, which browsers never send to a server:
// compressed in `#code=`, as share links have it, or as percent-encoded JSON in
// `#json=`, which a page can write by hand.

import { t } from "../messages";
import { bad, readSnapshot, type Checked } from "../store/snapshot";
import type { Snapshot } from "../workspace";

/** Limits the memory that a short link can fill. */
const MAX_UNPACKED_BYTES = 8 * 1024 * 1024;

/** The start of the page. */
export interface Start {
  snapshot: Snapshot;
  /** Whether it came from the link. */
  isFromLink: boolean;
  /** The reason why the code in the link could not be read; `null` if it could, or if there was none. */
  fault: string | null;
}

/** The code in the link, or else the starter, which the server wrote into the page. */
export async function startingPoint(hash: string, starter: Snapshot): Promise<Start> {
  const read = await readFragment(hash, starter.entryFile);
  if (read === null) return { snapshot: starter, isFromLink: false, fault: null };
  if (read.value === null) return { snapshot: starter, isFromLink: false, fault: read.fault };
  return { snapshot: read.value, isFromLink: true, fault: null };
}

/** Calls `take` when the fragment changes, for example when a link to other code is followed. */
export function onNewFragment(starter: Snapshot, take: (start: Start) => void): void {
  addEventListener("hashchange", () => {
    const { hash } = location;
    // Code takes longer to read than its absence: another fragment may be there by then.
    void startingPoint(hash, starter).then((start) => hash === location.hash && take(start));
  });
}

/** `code=…`: deflate-raw, then base64url, of the snapshot as JSON. */
export async function writeFragment(snapshot: Snapshot): Promise<string> {
  const json = JSON.stringify(snapshot);
  if (typeof CompressionStream === "undefined") return `json=${encodeURIComponent(json)}`;
  const packed = new Blob([json]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return `code=${toBase64Url(new Uint8Array(await new Response(packed).arrayBuffer()))}`;
}

/** The code in a fragment; `null` if there is none. */
export async function readFragment(hash: string, usualEntry: string): Promise<Checked<Snapshot> | null> {
  const [name = "", value = ""] = hash.replace(/^#/, "").split(/=(.*)/s, 2);
  try {
    if (name === "json") return readSnapshot(JSON.parse(decodeURIComponent(value)), usualEntry);
    if (name !== "code") return null;
    if (typeof DecompressionStream === "undefined") {
      return bad(t("start.link-unreadable"));
    }
    const json = await unpacked(fromBase64Url(value));
    return json === null ? bad(t("start.link-large")) : readSnapshot(JSON.parse(json), usualEntry);
  } catch {
    return bad(t("start.link-damaged"));
  }
}

async function unpacked(bytes: Uint8Array<ArrayBuffer>): Promise<string | null> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = stream.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > MAX_UNPACKED_BYTES) {
      await reader.cancel();
      return null;
    }
    text += decoder.decode(value, { stream: true });
  }
}

function toBase64Url(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
