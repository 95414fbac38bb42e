// Python's tracebacks: the last frame in a submitted file is the mark.

import type { MessageSettings } from "../config";
import type { Mark } from "../editor/marks";
import { placeIn, type Place } from "./places";
import type { Sources } from "./sources";

export function pythonMarks(messages: MessageSettings, text: string, sources: Sources): Mark[] {
  const marks: Mark[] = [];
  // Each line of an exception group begins with a bar.
  const isGroup = text.includes("+ Exception Group Traceback");
  const lines = text.split("\n").map((line) => (isGroup ? line.replace(/^ +\| ?/, "") : line));
  let frame: { place: Place; at: number } | null = null;
  for (const [at, line] of lines.entries()) {
    const place = line.includes("line ") || line.includes("Warning") ? placeIn(messages, line, sources) : undefined;
    const warning = /^.+?:\d+: (\w*Warning: .+)$/.exec(line)?.[1];
    if (place !== undefined && warning !== undefined) {
      marks.push({ path: place.path, line: place.line, column: 0, severity: "warning", message: warning });
    } else if (place !== undefined && line.startsWith("  ")) {
      frame = { place, at };
    } else if (/^\S/.test(line)) {
      const message = /^(?:[\w.]+\.)?(\w+(?::? .*)?)$/.exec(line)?.[1];
      if (frame !== null && message !== undefined && !line.startsWith("Traceback ")) {
        const { path, line: number } = frame.place;
        const column = columnOf(lines, frame.at, sources.line(path, number));
        marks.push({ path, line: number, column, severity: "error", message });
      }
      frame = null;
    }
  }
  return marks;
}

/** By the carets under the line that the frame shows, which is indented by four. */
function columnOf(lines: readonly string[], frame: number, source: string | undefined): number {
  const shown = lines[frame + 1]?.slice(4);
  const carets = /^ {4}(\s*)[~^]/.exec(lines[frame + 2] ?? "")?.[1];
  if (shown === undefined || carets === undefined || source === undefined) return 0;
  const indent = source.indexOf(shown.trimEnd());
  return indent < 0 ? 0 : indent + carets.length + 1;
}
