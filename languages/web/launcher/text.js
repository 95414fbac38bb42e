// Text put where it cannot end what surrounds it: scripts, styles, attributes
// and addresses.

import { isUtf8 } from "node:buffer";

const DANGER = /<(?=\/script|script|!--)/i;
const TYPES = {
  svg: "image/svg+xml", png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg",
  gif: "image/gif", webp: "image/webp", avif: "image/avif", ico: "image/x-icon",
  bmp: "image/bmp", mp3: "audio/mpeg", ogg: "audio/ogg", wav: "audio/wav",
  mp4: "video/mp4", webm: "video/webm", vtt: "text/vtt", woff: "font/woff",
  woff2: "font/woff2", ttf: "font/ttf", otf: "font/otf", css: "text/css",
  js: "text/javascript", mjs: "text/javascript", json: "application/json",
  html: "text/html", htm: "text/html", xml: "application/xml", txt: "text/plain",
  csv: "text/csv", md: "text/markdown", pdf: "application/pdf",
  webmanifest: "application/manifest+json", wasm: "application/wasm",
};

/** Whether code may stand in a script element as it is. */
export const fitsScript = (code) => !DANGER.test(code);

/**
 * The code of a bundle for a script element. It has these words in literals
 * alone: operators are printed with spaces and comments are gone.
 */
export const asScript = (code) => code.replace(/<(?=\/script|script|!--)/gi, "\\x3C");

export const asStyle = (css) => css.replace(/<(?=\/style)/gi, "<\\").replace(/<!--/g, "<\\!--");

export const asAttribute = (value) => value.replaceAll("&", "&amp;").replaceAll('"', "&quot;");

/** The address that holds a file itself. */
export function dataUrl(path, bytes) {
  if (!isUtf8(bytes)) return `data:${type(path)};base64,${bytes.toString("base64")}`;
  // Kept readable; apostrophes and brackets would end it in CSS.
  const data = encodeURIComponent(new TextDecoder().decode(bytes)).replace(/['()]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  const plain = data.replace(/%(3B|2F|3F|3A|40|3D|2B|24|2C)/g, (code) => decodeURIComponent(code));
  return `data:${type(path)},${plain}`;
}

export function type(path) {
  const ending = /\.([^./]+)$/.exec(path)?.[1].toLowerCase();
  const known = Object.hasOwn(TYPES, ending ?? "") ? TYPES[ending] : "text/plain";
  return known.startsWith("text/") || known === "image/svg+xml" ? `${known};charset=utf-8` : known;
}

/** The address of a script, which keeps its name in stacks. */
export function scriptUrl(path, code) {
  const bytes = Buffer.from(`${code}${named(path)}`).toString("base64");
  return `data:text/javascript;charset=utf-8;base64,${bytes}`;
}

/** A comment by which error stacks name the file. */
export const named = (path) => `\n//# sourceURL=${encodeURI(path).replaceAll("#", "%23")}\n`;

/** An address of something that is not among the files. */
export const isElsewhere = (address) =>
  /^([a-z][a-z0-9+.-]*:|\/\/|#|$)/i.test(address.trim());

/** A local address: its path decoded, what follows, and the path as written. */
export function localAddress(address) {
  const trimmed = address.trim();
  const [, path, query, fragment] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(trimmed);
  let decoded = path;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // It is no code: the name has a percent sign of its own.
  }
  return { path: decoded, raw: trimmed, query: query ?? "", fragment: fragment ?? "" };
}
