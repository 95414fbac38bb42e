// Stack traces of Java, C#, mongosh, PHP, and languages without a format of their
// own: for every exception of the chain, the innermost frame in a submitted file.

import type { MessageSettings } from "../config";
import type { Mark } from "../editor/marks";
import { expression } from "./pattern";
import { markAt, placeIn, placesIn, type Place } from "./places";
import type { Sources } from "./sources";

export function javaMarks(messages: MessageSettings, text: string, sources: Sources): Mark[] {
  const marks: Mark[] = [];
  let message: string | null = null;
  for (const line of text.split("\n")) {
    if (/^\s+at /.test(line)) {
      const place = message === null ? undefined : placeIn(messages, line, sources);
      if (place === undefined || message === null) continue;
      marks.push(markAt(place, message));
      message = null;
    } else {
      message = JAVA_HEADER.exec(line)?.[1] ?? message;
    }
  }
  return marks;
}

const JAVA_HEADER =
  /^\s*(?:Exception in thread ".*?" |Caused by: |Suppressed: )?(?:[\w$]+[./])*([\w$\u0080-\uffff]+(?:: .*)?)$/;
const CSHARP_HEADER = /^(?:Unhandled exception\. |\s*---> )(?:\(Inner Exception #\d+\) )?(?:[\w`]+\.)*(.+)$/;

export function csharpMarks(messages: MessageSettings, text: string, sources: Sources): Mark[] {
  const marks: Mark[] = [];
  // Inner exceptions come first, and their frames; then those of the outer.
  const open: (string | null)[] = [];
  /** The lines above the frames if there is no exception: a failed assertion, for example. */
  let lead: string[] | null = null;
  for (const line of text.split("\n")) {
    const header = CSHARP_HEADER.exec(line)?.[1];
    if (header !== undefined) open.push(header);
    else if (/^\s*--- End of inner exception stack trace ---/.test(line)) open.pop();
    else if (line.startsWith("Process terminated.")) lead = [line.slice("Process terminated.".length).trim()];
    else if (/^\s+at /.test(line)) {
      if (lead !== null) open.push(lead.filter((words) => words !== "").join(": ").replace(".: ", ": "));
      lead = null;
      const message = open.at(-1) ?? null;
      const place = message === null ? undefined : placeIn(messages, line, sources);
      if (place === undefined || message === null) continue;
      marks.push(markAt(place, message));
      open[open.length - 1] = null;
    } else lead?.push(line.trim());
  }
  return marks;
}

export function mongoMarks(messages: MessageSettings, text: string, sources: Sources): Mark[] {
  const marks: Mark[] = [];
  let nearest: string | null = null;
  let error: string | null = null;
  for (const line of text.split("\n")) {
    const place = placeIn(messages, line, sources);
    if (place !== undefined && line.startsWith("SyntaxError: ")) {
      marks.push(markAt(place, line.replace(/^SyntaxError: .*?: /, "SyntaxError: ").replace(/ \(\d+:\d+\)$/, "")));
    } else if (place !== undefined) {
      const message = error ?? nearest;
      if (message !== null) marks.push(markAt(place, message));
      // The outer frames add nothing.
      nearest = error = null;
    } else if (/^\S*(?:Error|Exception)\S*?(?:: |:?$)/.test(line)) error = line.replace(/:$/, "");
    else if (/^[\w$.]+: /.test(line)) nearest = line;
  }
  return marks;
}

export function phpMarks(messages: MessageSettings, text: string, sources: Sources): Mark[] {
  const marks: Mark[] = [];
  /** An exception whose message has several lines: its place comes later. */
  let open: string | null = null;
  for (const line of text.split("\n")) {
    const said = /^(?:PHP )?(?<kind>[A-Z][\w ]*?):\s+(?<rest>.*)$/.exec(line)?.groups;
    const next = /^Next (.+)$/.exec(line)?.[1];
    const uncaught = next ?? /^Uncaught (.+)$/.exec(said?.["rest"] ?? "")?.[1];
    const thrown = /^\s+thrown in /.test(line);
    const places = thrown || uncaught !== undefined || said !== undefined || open !== null;
    const place = places ? lastPlace(messages, line, sources) : undefined;
    if (uncaught !== undefined && place === undefined) open = uncaught;
    else if (uncaught !== undefined && place !== undefined) marks.push(markAt(place, before(uncaught, " in ")));
    else if (thrown && open !== null && place !== undefined) {
      marks.push(markAt(place, open));
      open = null;
    } else if (place !== undefined && / on line \d+$/.test(line) && KINDS.test(said?.["kind"] ?? "")) {
      const isError = /error/i.test(said?.["kind"] ?? "");
      const message = `${said?.["kind"]}: ${before(said?.["rest"] ?? "", " in ")}`;
      marks.push({ ...markAt(place, message), severity: isError ? "error" : "warning" });
    }
  }
  return marks;
}

const KINDS = /^(?:(?:Fatal|Parse|Core|Compile|Recoverable fatal) error|Warning|Notice|Deprecated|Strict Standards)$/;

/** PHP's own place is the last of its line. */
function lastPlace(messages: MessageSettings, line: string, sources: Sources): Place | undefined {
  return placesIn(messages, line, sources).at(-1);
}

function before(text: string, end: string): string {
  const at = text.lastIndexOf(end);
  return at < 0 ? text : text.slice(0, at);
}

/** Messages without a place, such as panics of Go: each is at the first place below it. */
export function headedMarks(messages: MessageSettings, text: string, sources: Sources): Mark[] {
  if (messages.head === undefined) return [];
  const head = expression(messages.head, "");
  const marks: Mark[] = [];
  let message: string | null = null;
  for (const line of text.split("\n")) {
    if (head.test(line)) message = line;
    const place = message === null ? undefined : placeIn(messages, line, sources);
    if (place === undefined || message === null) continue;
    marks.push(markAt(place, message));
    message = null;
  }
  return marks;
}
