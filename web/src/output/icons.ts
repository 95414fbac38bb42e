// The icons of the page, drawn in the colour of the text around them.

const SIZE = "0 0 16 16";
const CIRCLE = "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8";

/** Lines on a square of 16. */
const SHAPES = {
  ok: `${CIRCLE}M5.2 8.3l2 2 3.6-4.2`,
  failed: `${CIRCLE}M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4`,
  differs: "M3 6h10M3 10h10M11 2.5L5 13.5",
  compile: "M5.2 4.2L1.5 8l3.7 3.8M10.8 4.2L14.5 8l-3.7 3.8M9.3 3l-2.6 10",
  crash: "M9 1.5L3.5 9H8l-1 5.5L12.5 7H8z",
  limit: "M5.4 1.8h5.2l3.6 3.6v5.2l-3.6 3.6H5.4l-3.6-3.6V5.4zM8 4.8v4M8 11v.3",
  stopped: "M3.5 3.5h9v9h-9z",
  running: "M8 1.8A6.2 6.2 0 1 1 1.8 8",
  queued: `${CIRCLE}M8 4.5V8l2.6 1.6`,
  refused: "M8 2.2l6.3 11.3H1.7zM8 6.3v3.4M8 11.5v.3",
  lost: "M2 2l12 12M2 6.6a9 9 0 0 1 2.6-1.7M14 6.6a9 9 0 0 0-6.2-2.4M4.6 9.4a5 5 0 0 1 2.6-1.3M8 12.6v.3",
  times: "M8 3.3a5.6 5.6 0 1 0 0 11.2A5.6 5.6 0 0 0 8 3.3M8 6v3h2.4M6.2 1.3h3.6",
  wrap: "M1.8 4h12.4M1.8 8h10a2.2 2.2 0 0 1 0 4.5H8M9.8 10.6l-2 1.9 2 1.9M1.8 12.5h3",
  copy: "M5.5 5.5h8.7v8.7H5.5zM10.5 5.5V1.8H1.8v8.7h3.7",
  save: "M8 1.8v8.4M4.6 7L8 10.4 11.4 7M2 13.8h12",
  clear: "M2.5 4.3h11M6 4.3V2h4v2.3M4 4.3l.7 9.7h6.6l.7-9.7",
  more: "M3 8h.1M8 8h.1M13 8h.1",
  done: "M2.5 8.6l3.6 3.6 7.4-8",
} as const;

export type IconName = keyof typeof SHAPES;

/** An icon that screen readers skip: words beside it, or the name of its button, say the same. */
export function icon(name: IconName): SVGSVGElement {
  const made = shape("svg", { class: "icon", viewBox: SIZE, "aria-hidden": "true" });
  made.append(shape("path", { d: SHAPES[name] }));
  return made;
}

function shape<K extends "svg" | "path">(name: K, attributes: Readonly<Record<string, string>>): SVGElementTagNameMap[K] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
