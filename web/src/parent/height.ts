// The height at which the page shows all of its code and all of the output.

import type { Editor } from "../editor/editor";

const MIN_HEIGHT = 160;
const MAX_HEIGHT = 10_000;
/** A frame has no width while it is made, unfolded or photographed. Text that wraps in less than this is not measured. */
const MIN_WIDTH = 100;

export interface HeightOptions {
  editor: Editor;
  /** Calls `look` at changes that the observers of this module do not see. */
  changed: (look: () => void) => void;
  /** Whether a run goes on, whose output is not there yet. */
  isBusy: () => boolean;
  report: (height: number) => void;
}

/** Reports the height at first and when it changes; during a run, only when it grows. */
export function watchHeight({ editor, changed, isBusy, report }: HeightOptions): void {
  let last = 0;
  let isAsked = false;
  const measure = () => {
    isAsked = false;
    if (innerWidth < MIN_WIDTH) return;
    const height = wantedHeight(editor);
    if (height === last || (height < last && isBusy())) return;
    last = height;
    report(height);
  };
  // At most once per animation frame. A hidden page has no frames, and needs no height.
  const look = () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(measure);
  };
  const observer = new ResizeObserver(look);
  const parts = document.querySelectorAll(".bar, .right > *, #streams > *");
  for (const part of parts) observer.observe(part);
  const right = document.querySelector(".right");
  const everything = { childList: true, subtree: true, characterData: true };
  if (right !== null) new MutationObserver(look).observe(right, everything);
  changed(look);
  look();
}

/** The sum of the bar and the higher half, or both halves if they are stacked. */
export function natural(bar: number, left: number, right: number, isStacked: boolean): number {
  const height = bar + (isStacked ? left + right : Math.max(left, right));
  return Math.ceil(Math.min(Math.max(height, MIN_HEIGHT), MAX_HEIGHT));
}

function wantedHeight(editor: Editor): number {
  const left = document.querySelector<HTMLElement>(".left");
  const right = document.querySelector<HTMLElement>(".right");
  const bar = document.querySelector<HTMLElement>(".bar")?.offsetHeight ?? 0;
  const scrollbar = 16;
  const besides = left === null ? 0 : heightOf(left, (part) => part.id !== "code");
  const code = editor.contentHeight + besides + scrollbar;
  const results = right === null ? 0 : heightOf(right, () => true);
  const isStacked = left !== null && right !== null && right.offsetTop >= left.offsetTop + left.offsetHeight;
  return natural(bar, code, results, isStacked);
}

/** The sum of its parts, complete even if they scroll, but without parts that lie over others. */
function heightOf(box: HTMLElement, counts: (part: HTMLElement) => boolean): number {
  let sum = 0;
  for (const part of box.children) {
    if (!(part instanceof HTMLElement) || !counts(part)) continue;
    if (getComputedStyle(part).position !== "absolute") sum += Math.max(part.offsetHeight, part.scrollHeight);
  }
  return sum;
}
