// Makes elements of pieces of terminal text. Colours are set through the style
// object, since the page's policy allows no style attributes.

import { element } from "../dom";
import type { Look, Piece } from "./ansi";
import { PAGES, css, readable, type Colour } from "./colours";

/** A part of the text that gets an element of its own. */
export interface Anchor {
  start: number;
  end: number;
  /** Puts an element around the part. */
  wrap(content: DocumentFragment): HTMLElement;
}

/** The pieces as nodes; those within an anchor are inside its element. Anchors are in order and do not overlap. */
export function styled(pieces: readonly Piece[], anchors: readonly Anchor[] = []): DocumentFragment {
  const whole = document.createDocumentFragment();
  let inside: DocumentFragment | null = null;
  let next = 0;
  let at = 0;
  for (const { text, look } of pieces) {
    let from = 0;
    while (from < text.length) {
      const anchor = anchors[next];
      const until = anchor === undefined ? Infinity : at + from < anchor.start ? anchor.start : anchor.end;
      const to = Math.min(text.length, until - at);
      const isInside = anchor !== undefined && at + from >= anchor.start;
      if (isInside) inside ??= document.createDocumentFragment();
      (inside ?? whole).append(node(text.slice(from, to), look));
      from = to;
      if (isInside && inside !== null && at + from >= anchor.end) {
        whole.append(anchor.wrap(inside));
        inside = null;
        next++;
      }
    }
    at += text.length;
  }
  if (inside !== null) whole.append(inside);
  return whole;
}

const CLASSES: readonly [keyof Look, string][] = [
  ["isBold", "bold"],
  ["isDim", "dim"],
  ["isItalic", "italic"],
  ["isUnderlined", "underlined"],
  ["isStruck", "struck"],
];

function node(text: string, look: Readonly<Look>): Node | string {
  if (Object.keys(look).length === 0) return text;
  const names = CLASSES.filter(([name]) => look[name] === true).map(([, css]) => css);
  const made = element("span", names.length === 0 ? {} : { class: names.join(" ") }, text);
  const isInverse = look.isInverse === true;
  const front = isInverse ? look.background : look.foreground;
  const back = isInverse ? look.foreground : look.background;
  const on = (theme: "light" | "dark"): [string, string | null] => {
    const page = PAGES[theme];
    const other = PAGES[theme === "light" ? "dark" : "light"];
    // Inverse without colours swaps the colours of the page.
    const behind = back ?? (isInverse ? other : null);
    const plain: Colour = isInverse ? page : other;
    return [css(readable(front ?? plain, behind ?? page)), behind === null ? null : css(behind)];
  };
  const [light, lightBack] = on("light");
  const [dark, darkBack] = on("dark");
  if (front !== undefined || lightBack !== null) made.style.setProperty("color", `light-dark(${light}, ${dark})`);
  if (lightBack !== null && darkBack !== null) {
    made.style.setProperty("background-color", `light-dark(${lightBack}, ${darkBack})`);
  }
  return made;
}
