// Making elements without markup: nothing that a program prints becomes HTML.

type Child = Node | string;

/** An element with attributes; `false` leaves one out, `true` sets it empty. */
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

/** Whether the person is in this box: not when they are in the embedding page, whatever had the focus here before. */
export function hasFocus(box: Element): boolean {
  return document.hasFocus() && box.contains(document.activeElement);
}

/** Does something that may remove what has the focus inside of `box`; then `box` has it, which must be focusable. */
export function keepingFocus(box: HTMLElement, act: () => void): void {
  const hadFocus = hasFocus(box);
  act();
  if (hadFocus && !hasFocus(box)) box.focus({ preventScroll: true });
}
