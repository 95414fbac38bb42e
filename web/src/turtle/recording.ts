// Reads the recording of a drawing (languages/python/drawing/sandpiper_turtle.py).
// A program can have written it: whatever is not as it should be is left out.

import { isRecord } from "../store/snapshot";

export type Item =
  | { kind: "line"; layer: number; width: number; color: string; points: number[] }
  | { kind: "dot"; layer: number; diameter: number; color: string; x: number; y: number }
  | { kind: "polygon"; layer: number; width: number; outline: string; fill: string; points: number[] }
  | { kind: "text"; layer: number; font: string; color: string; align: CanvasTextAlign; x: number; y: number; text: string };

/** A change at a time, in milliseconds. */
export type Segment = { ms: number } & (
  | { kind: "view"; x: number; y: number }
  | { kind: "background"; color: string }
  | { kind: "item"; id: number; item: Item }
  | { kind: "extend"; id: number; points: number[] }
  | { kind: "remove"; id: number }
);

export interface Recording {
  width: number;
  height: number;
  durationMs: number;
  segments: readonly Segment[];
}

const MAX_SEGMENTS = 20_000;
const MAX_SIZE = 4096;
const MAX_COORDINATE = 1_000_000;
const MAX_DURATION_MS = 24 * 3600 * 1000;
const MAX_TEXT = 10_000;
const FONT = /^(?:italic )?(?:bold )?\d{1,4}px (?:sans-serif|serif|monospace)$/;

/** The recording in a JSON text; `null` for any other text. */
export function readRecording(text: string): Recording | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value)) return null;
  const { width, height, duration, segments } = value;
  if (!isSize(width) || !isSize(height) || !isBetween(duration, 0, MAX_DURATION_MS)) return null;
  if (!Array.isArray(segments) || segments.length > MAX_SEGMENTS) return null;
  let latestMs = 0;
  const read = (segments as unknown[]).flatMap((given) => {
    const segment = Array.isArray(given) ? segmentOf(given) : null;
    if (segment === null || segment.ms < latestMs || segment.ms > duration) return [];
    latestMs = segment.ms;
    return [segment];
  });
  return { width, height, durationMs: duration, segments: read };
}

function segmentOf([ms, kind, ...fields]: readonly unknown[]): Segment | null {
  if (!isBetween(ms, 0, MAX_DURATION_MS)) return null;
  const [first, second] = fields;
  if (kind === "view") return isNumber(first) && isNumber(second) ? { ms, kind, x: first, y: second } : null;
  if (kind === "background") return isColor(first) ? { ms, kind, color: first } : null;
  if (!isNumber(first)) return null;
  if (kind === "remove") return { ms, kind, id: first };
  if (kind === "extend") return isPoints(second) ? { ms, kind, id: first, points: second } : null;
  const item = itemOf(kind, fields.slice(1));
  return item === null ? null : { ms, kind: "item", id: first, item };
}

function itemOf(kind: unknown, [layer, ...fields]: readonly unknown[]): Item | null {
  if (!isNumber(layer)) return null;
  const [a, b, c, d, e, f] = fields;
  switch (kind) {
    case "line":
      return isWidth(a) && isColor(b) && isPoints(c) ? { kind, layer, width: a, color: b, points: c } : null;
    case "dot":
      return isWidth(a) && isColor(b) && isNumber(c) && isNumber(d)
        ? { kind, layer, diameter: a, color: b, x: c, y: d }
        : null;
    case "polygon":
      return isWidth(a) && isColorOrNone(b) && isColorOrNone(c) && isPoints(d)
        ? { kind, layer, width: a, outline: b, fill: c, points: d }
        : null;
    case "text":
      return isFont(a) && isColor(b) && isAlignment(c) && isNumber(d) && isNumber(e) && isText(f)
        ? { kind, layer, font: a, color: b, align: c, x: d, y: e, text: f }
        : null;
    default:
      return null;
  }
}

function isBetween(value: unknown, min: number, max: number): value is number {
  return typeof value === "number" && value >= min && value <= max;
}

function isNumber(value: unknown): value is number {
  return isBetween(value, -MAX_COORDINATE, MAX_COORDINATE);
}

function isWidth(value: unknown): value is number {
  return isBetween(value, 0, MAX_COORDINATE);
}

function isSize(value: unknown): value is number {
  return isBetween(value, 1, MAX_SIZE);
}

function isPoints(value: unknown): value is number[] {
  return Array.isArray(value) && value.length >= 2 && value.length % 2 === 0 && value.every(isNumber);
}

function isColor(value: unknown): value is string {
  return typeof value === "string" && /^#[0-9a-f]{6}$/.test(value);
}

function isColorOrNone(value: unknown): value is string {
  return value === "" || isColor(value);
}

function isFont(value: unknown): value is string {
  return typeof value === "string" && FONT.test(value);
}

function isAlignment(value: unknown): value is "left" | "center" | "right" {
  return value === "left" || value === "center" || value === "right";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT;
}
