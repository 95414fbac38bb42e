// The marks of messages: each is at a place of its own, or at one of the trace
// above or below it.

import type { MessageSettings } from "../config";
import type { Mark } from "../editor/marks";
import { markAt, messagesIn, placesIn, type Place } from "./places";
import type { Sources } from "./sources";

/** The marks, in the order of their places and messages. */
export function marksIn(messages: MessageSettings, text: string, sources: Sources): Mark[] {
  const marks: Mark[] = [];
  /** The heads whose traces have not ended, the innermost last; `null` for one that has its mark. */
  const open: (string | null)[] = [];
  /** The last frame of a trace whose message is below it. */
  let frame: Place | null = null;

  const mark = (place: Place | null, message: string | null | undefined) => {
    if (place !== null && typeof message === "string") marks.push(markAt(place, message));
  };
  const readPlace = (place: Place) => {
    if (place.message !== undefined) return mark(place, place.message);
    frame = place;
    mark(place, open.at(-1));
    // The outer frames add nothing.
    if (open.length > 0) open[open.length - 1] = null;
  };
  const readHead = (message: string | undefined) => void (message === undefined ? open.pop() : open.push(message));
  const readFoot = (message: string | undefined) => {
    mark(frame, message);
    frame = null;
  };

  const parts = [
    ...placesIn(messages, text, sources).map((place) => ({ start: place.start, read: () => readPlace(place) })),
    ...messagesIn(messages.heads, text, sources).map(({ start, message }) => ({ start, read: () => readHead(message) })),
    ...messagesIn(messages.feet, text, sources).map(({ start, message }) => ({ start, read: () => readFoot(message) })),
  ];
  parts.sort((a, b) => a.start - b.start);
  for (const { read } of parts) read();
  return marks;
}
