// The scripts of a document, and where a position in one comes from, by the source map within it.

import { SourceMap, type SourceMapPayload } from "node:module";

/** Line and column are from 1. */
export interface Place {
  url: string;
  line: number;
  column: number;
}

/** A document that is shown. */
export interface Document {
  /** As error stacks name it: its address, or that of a frame. */
  name: string;
  /** The paths of the submitted files. */
  paths: ReadonlySet<string>;
}

/** A script as DevTools tells of it; its lines and columns are from 0, and of the document. */
export interface Parsed {
  url: string;
  startLine: number;
  startColumn: number;
  endLine: number;
  endColumn: number;
  hasSourceURL?: boolean;
  sourceMapURL?: string;
}

/** Words for the innermost of several places that is the submission's; and sources that are no submitted file. */
export function placesIn({ name, paths }: Document, parsed: readonly Parsed[]) {
  const scripts = parsed.map(scriptOf);
  const sources = scripts.flatMap((script) => script.sources);
  const placing = (frames: readonly Place[]): string => {
    let inDocument = "";
    for (const frame of frames) {
      const origin = scripts.find((script) => script.holds(frame))?.origin(frame);
      if (origin === undefined) continue;
      const { url, line, column } = origin;
      if (paths.has(url)) return ` (${url}:${line}:${column})`;
      // If nothing was built, the document's scripts are as they were submitted.
      if (url === name && sources.length === 0) inDocument ||= ` (document:${line}:${column})`;
    }
    return inDocument;
  };
  return { placing, strangers: sources.filter((source) => !paths.has(source)) };
}

function scriptOf(parsed: Parsed) {
  // A script with a name of its own counts from its own start.
  const isNamed = parsed.hasSourceURL === true;
  const start = isNamed ? { line: 1, column: 1 } : { line: parsed.startLine + 1, column: parsed.startColumn + 1 };
  const end = isNamed ? { line: Infinity, column: 1 } : { line: parsed.endLine + 1, column: parsed.endColumn + 1 };
  // The browser has scripts of its own for a frame that could not be loaded.
  const address = parsed.url.startsWith("chrome-error:") ? "" : (parsed.sourceMapURL ?? "");
  const payload = address === "" ? undefined : payloadOf(address);
  const map = payload && new SourceMap(payload as SourceMapPayload);
  return {
    sources: (payload?.sources ?? []).filter((source) => source !== null),
    holds: (place: Place) => place.url === parsed.url && !isBefore(place, start) && !isBefore(end, place),
    /** Nothing if its map says nothing of it; the place itself if there is no map. */
    origin(place: Place): Place | undefined {
      if (map === undefined) return place;
      // A map counts from the start of its script.
      const line = place.line - start.line;
      const found = map.findEntry(line, place.column - (line === 0 ? start.column : 1));
      // An entry of another line does not reach into this one, and one without a source stands for none.
      if (!("originalSource" in found) || !found.originalSource || found.generatedLine !== line) return undefined;
      return { url: found.originalSource, line: found.originalLine + 1, column: found.originalColumn + 1 };
    },
  };
}

function isBefore(one: Omit<Place, "url">, other: Omit<Place, "url">): boolean {
  return one.line < other.line || (one.line === other.line && one.column < other.column);
}

/** Code that has no source has null in its place, which Node's type leaves out. */
type Payload = Omit<SourceMapPayload, "sources"> & { sources: (string | null)[] };

function payloadOf(url: string): Payload {
  const encoded = /^data:application\/json[^,]*;base64,(.*)$/.exec(url)?.[1];
  if (encoded === undefined) throw new Error(`the source map is not in the document: ${url.slice(0, 60)}`);
  const map = JSON.parse(Buffer.from(encoded, "base64").toString()) as Payload;
  if (map.version !== 3) throw new Error(`a source map of version ${map.version}`);
  const named = (source: string | null) => source && decodeURIComponent((map.sourceRoot ?? "") + source);
  return { ...map, sources: map.sources.map(named) };
}
