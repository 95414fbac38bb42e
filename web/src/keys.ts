// The keys that work everywhere in the page: F6 and Shift+F6 move from part to
// part, Ctrl+Enter or Cmd+Enter runs, and Ctrl+S or Cmd+S saves the edits, where
// browsers would save the page as a file.

import { letterOf } from "./dom";

/** The parts in the order of F6. The first target that is visible gets the focus. */
const PARTS = [
  { box: ".bar", targets: ['#tabs [aria-selected="true"]', "#run"] },
  { box: "#left", targets: [".cm-content"] },
  { box: "#results", targets: ["#results"] },
  { box: ".preview", targets: [".preview"] },
] as const;

export function listenToKeys({ run, save }: Readonly<Record<"run" | "save", () => void>>): void {
  noteTheWay();
  document.addEventListener("keydown", (event) => {
    // The editor has handled the key, or a dialog is open.
    if (event.defaultPrevented || document.querySelector("dialog[open]") !== null) return;
    if (event.key === "F6" && !event.ctrlKey && !event.metaKey && !event.altKey) go(event.shiftKey ? -1 : 1);
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
    else if (letterOf(event) === "s" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) save();
    else return;
    event.preventDefault();
  });
}

/** Notes whether the focus was moved by pointer, and whether Tab was pressed in the code, for the styles. */
function noteTheWay(): void {
  const root = document.documentElement;
  document.addEventListener("pointerdown", () => root.toggleAttribute("data-pointer", true), true);
  const onKey = ({ key, target }: KeyboardEvent) => {
    const isInCode = target instanceof Element && target.closest(".cm-content") !== null;
    if (key === "Tab" && isInCode) root.toggleAttribute("data-tabbed", true);
    if (!isInCode || ["Tab", "F6", "Escape"].includes(key)) root.toggleAttribute("data-pointer", false);
  };
  document.addEventListener("keydown", onKey, true);
}

/** Moves the focus to the next part, or to the one before. */
function go(by: 1 | -1): void {
  const here = PARTS.findLastIndex(({ box }) => document.activeElement?.closest(box) != null);
  const from = here < 0 && by < 0 ? 0 : here;
  for (let step = 1; step <= PARTS.length; step++) {
    const index = (from + by * step + 2 * PARTS.length) % PARTS.length;
    const target = targetOf(index);
    if (target === null) continue;
    target.focus();
    return;
  }
}

function targetOf(index: number): HTMLElement | null {
  const targets = (PARTS[index]?.targets ?? []).map((name) => document.querySelector<HTMLElement>(name));
  return targets.find((target) => target?.checkVisibility() === true) ?? null;
}
