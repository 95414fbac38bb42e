// The keys that work everywhere in the page: F6 and Shift+F6 go from part to
// part, Ctrl+Enter or Cmd+Enter runs, and Ctrl+S or Cmd+S does not save the page
// as a file, which is what browsers do.

/** In the order of F6: a part, and what of it gets the focus, the first that is there. */
const PARTS = [
  { box: ".bar", targets: ['#tabs [aria-selected="true"]', "#run"] },
  { box: "#left", targets: [".cm-content"] },
  { box: "#results", targets: ["#results"] },
  { box: ".preview", targets: [".preview"] },
] as const;

export function listenToKeys({ run, save }: Readonly<Record<"run" | "save", () => void>>): void {
  document.addEventListener("keydown", (event) => {
    // The editor has taken it, or a dialog is over all.
    if (event.defaultPrevented || document.querySelector("dialog[open]") !== null) return;
    if (event.key === "F6" && !event.ctrlKey && !event.metaKey && !event.altKey) go(event.shiftKey ? -1 : 1);
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
    else if (event.key.toLowerCase() === "s" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) save();
    else return;
    event.preventDefault();
  });
}

/** Puts the focus to the next part, or the one before. */
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
