// Errors of the mysql client: at the line of the statement, and for a syntax
// error at the line within it.

import type { Mark } from "../editor/marks";
import { t } from "../messages";
import type { Place } from "./places";
import type { Sources } from "./sources";

interface Found {
  /** The part "at line N". */
  start: number;
  end: number;
  path: string;
  line: number;
  message: string;
  /** The place within the statement: `near '…' at line 2`. */
  near: { text: string; line: number; start: number; end: number } | null;
}

export function mysqlPlaces(text: string, sources: Sources): Place[] {
  return errorsIn(text, sources).flatMap(({ start, end, path, line, near }) => {
    const places: Place[] = [{ start, end, path, line, column: 0 }];
    if (near !== null) {
      const at = line + near.line - 1;
      places.push({ start: near.start, end: near.end, path, line: at, column: columnOf(sources, path, at, near.text) });
    }
    return places;
  });
}

export function mysqlMarks(text: string, sources: Sources): Mark[] {
  return errorsIn(text, sources).map(({ path, line, message, near }): Mark => {
    if (near === null) return { path, line, column: 0, severity: "error", message };
    const at = line + near.line - 1;
    const first = near.text.split("\n", 1)[0] ?? "";
    return {
      path,
      line: at,
      column: columnOf(sources, path, at, near.text),
      severity: "error",
      message: near.text === "" ? t("output.sql-end") : t("output.sql-near", { text: first }),
    };
  });
}

const ERROR = /^ERROR(?: \d+ \(\w+\))? (at line (\d+)(?: in file: '(.+?)')?): /gmd;
/** The server quotes 80 characters, and a file's name has 1,024 bytes: a longer message is of another kind. */
const MAX_MESSAGE = 2000;
const NEAR = /^You have an error in your SQL syntax;[^]*? near '([^]*)' (at line (\d+))$/d;

function errorsIn(text: string, sources: Sources): Found[] {
  const found: Found[] = [];
  for (const match of text.matchAll(ERROR)) {
    const [head, , line = "1", file] = match;
    const path = file ?? sources.entryFile;
    const [start, end] = match.indices?.[1] ?? [0, 0];
    const messageStart = match.index + head.length;
    if (!sources.paths.includes(path)) continue;
    // It can have several lines.
    const next = text.indexOf("\nERROR ", messageStart - 1);
    const message = text.slice(messageStart, next < 0 ? text.length : next).trimEnd();
    const near = message.length > MAX_MESSAGE ? null : NEAR.exec(message);
    const span = near?.indices?.[2];
    found.push({
      start,
      end,
      path,
      line: Number(line),
      message,
      near:
        near === null || span === undefined
          ? null
          : {
              text: near[1] ?? "",
              line: Number(near[3]),
              start: messageStart + span[0],
              end: messageStart + span[1],
            },
    });
  }
  return found;
}

/** The column of the text that the server quotes; 0 unless the line has it once. */
function columnOf(sources: Sources, path: string, line: number, near: string): number {
  const first = near.split("\n", 1)[0] ?? "";
  const source = sources.line(path, line) ?? "";
  const at = first === "" ? -1 : source.indexOf(first);
  return at >= 0 && source.indexOf(first, at + 1) < 0 ? at + 1 : 0;
}
