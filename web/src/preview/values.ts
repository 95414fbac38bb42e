// Values of the console as elements: only text nodes, and trees that open.

import { element } from "../dom";
import { t } from "../messages";
import { allowedStyles } from "./css";
import type { Styled, Table, Value } from "./protocol";
import type { Place } from "./maps";
import type { OwnFrame } from "./stack";

const PREVIEW_ITEMS = 5;
const PREVIEW_CHARACTERS = 80;
const MEMBER_CHARACTERS = 40;

/** Finds the calls of a stack in the person's files, and shows one of their places. */
export interface Navigator {
  own: (stack: string) => OwnFrame[];
  jump: (place: Place) => void;
}

export function valueElement(value: Value, navigator: Navigator): HTMLElement {
  switch (value.type) {
    case "text":
      return element("span", {}, value.text);
    case "styled":
      return element("span", {}, ...value.parts.map(styledElement));
    case "string":
      return element("span", { class: "value-string" }, JSON.stringify(value.text));
    case "plain":
      return element("span", { class: `value-${value.kind}` }, value.text);
    case "error":
      return errorElement(value.text, navigator.own(value.stack), navigator);
    case "object":
      return objectElement(value, navigator);
  }
}

/** A value in one line, as the closed tree shows it. Only its members are cut. */
export function inShort(value: Value, depth = 0): string {
  const most = depth > 0 ? MEMBER_CHARACTERS : Infinity;
  if (value.type === "string") return JSON.stringify(cut(value.text, most));
  if (value.type === "styled") return value.parts.map(({ text }) => text).join("");
  if (value.type !== "object") return cut(value.text, most);
  const isList = value.name.startsWith("Array(");
  if (depth > 0) return value.name === "Object" ? "{…}" : value.name;
  const shown = value.items.slice(0, PREVIEW_ITEMS);
  const words = shown.map(({ key, value: held }) => (isList ? "" : `${key}: `) + inShort(held, depth + 1));
  if (value.items.length + value.more > shown.length) words.push("…");
  const inside = cut(words.join(", "), PREVIEW_CHARACTERS);
  if (isList) return `${value.name} [${inside}]`;
  return `${value.name === "Object" ? "" : `${value.name} `}{${inside}}`;
}

/** A link to a place in the person's files. */
export function placeButton({ file, line, column }: Place, navigator: Navigator): HTMLButtonElement {
  const attributes = { type: "button", class: "place", title: t("output.go", { line: String(line), path: file }) };
  const button = element("button", attributes, `${file}:${line}`);
  button.addEventListener("click", () => navigator.jump({ file, line, column }));
  return button;
}

export function tableElement({ columns, rows }: Table): HTMLElement {
  const head = element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name)));
  const body = rows.map(([index = "", ...cells]) =>
    element("tr", {}, element("th", { scope: "row" }, index), ...cells.map((cell) => element("td", {}, cell))),
  );
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}

function styledElement({ text, style }: Styled): HTMLElement {
  const made = element("span", {}, text);
  for (const [name, value] of allowedStyles(style)) made.style.setProperty(name, value);
  return made;
}

function errorElement(text: string, frames: OwnFrame[], navigator: Navigator): HTMLElement {
  const title = element("span", { class: "value-error" }, text);
  if (frames.length === 0) return title;
  const calls = frames.map(({ name, place }) =>
    element("li", {}, name === "" ? "at " : `at ${name} `, placeButton(place, navigator)),
  );
  return element("span", {}, title, element("ul", { class: "calls" }, ...calls));
}

function objectElement(value: Value & { type: "object" }, navigator: Navigator): HTMLElement {
  if (value.items.length === 0 && value.more === 0) return element("span", { class: "value-object" }, inShort(value));
  const details = element("details", { class: "tree" }, element("summary", {}, inShort(value)));
  // The contents are made when the tree is opened.
  details.addEventListener("toggle", () => details.append(members(value, navigator)), { once: true });
  return details;
}

function members({ items, more }: Value & { type: "object" }, navigator: Navigator): HTMLElement {
  const list = items.map(({ key, value }) =>
    element("li", {}, element("span", { class: "key" }, key), ": ", valueElement(value, navigator)),
  );
  if (more > 0) list.push(element("li", { class: "value-cut" }, t("console.more-members", { n: more })));
  return element("ul", {}, ...list);
}

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most)}…` : text);
