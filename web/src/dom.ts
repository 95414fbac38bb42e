// Makes elements without markup, so that no text of a program becomes HTML.

type Child = Node | string;

/** An element with attributes. `false` omits an attribute, `true` gives it an empty value. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string | boolean>> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** The element of the page with this id, which the server has written. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page lacks #${id}`);
  return found;
}

/** Whether the page is written from right to left, so that its parts stand the other way round. */
export function isMirrored(): boolean {
  return document.documentElement.dir === "rtl";
}

/** Whether the focus is in this box; not if it is in the embedding page. */
export function hasFocus(box: Element): boolean {
  return document.hasFocus() && box.contains(document.activeElement);
}

/** Executes `act`. If that removes the element with the focus from `box`, then `box`, which must be focusable, gets it. */
export function keepingFocus(box: HTMLElement, act: () => void): void {
  const hadFocus = hasFocus(box);
  act();
  if (hadFocus && !hasFocus(box)) box.focus({ preventScroll: true });
}

/** The Latin letter of a key, in lower case; on a keyboard of another script, that of its place. */
export function letterOf({ key, code }: Pick<KeyboardEvent, "key" | "code">): string {
  return (key > "\x7f" ? code.replace("Key", "") : key).toLowerCase();
}
