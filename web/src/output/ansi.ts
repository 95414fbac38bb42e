// Terminal colours as elements: classes only, since the page's policy allows no
// style attributes.

import Anser from "anser";

import { element } from "../dom";

// Operating system commands (links, titles), and every control sequence that
// is not a colour.
const COMMANDS = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;
const MOVES = /\u001b\[[0-?]*[ -/]*[@-ln-~]/g;

/** The text with its colours. */
export function styled(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  const plain = overwritten(text.replace(COMMANDS, "").replace(MOVES, ""));
  if (!plain.includes("\u001b[")) {
    fragment.append(plain);
    return fragment;
  }
  for (const part of Anser.ansiToJson(plain, { use_classes: true, remove_empty: true })) {
    const names = [part.fg, part.bg ? `${part.bg}-bg` : "", ...(part.decorations ?? []).map((name) => `ansi-${name}`)];
    const classes = names.filter((name) => /^ansi-[a-z-]+$/.test(name ?? "")).join(" ");
    fragment.append(classes === "" ? part.content : element("span", { class: classes }, part.content));
  }
  return fragment;
}

/** A carriage return starts the line again, as progress bars do. */
function overwritten(text: string): string {
  if (!text.includes("\r")) return text;
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  return lines.map((line) => line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1).replace(/\r+$/, "")).join("\n");
}
