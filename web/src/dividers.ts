// The dividers between code and results, and between a preview and its console:
// moved by pointer and by keys (WAI-ARIA window splitter), and kept for the reader.

import "./styles/dividers.css";

import { byId, element, isMirrored } from "./dom";
import { t } from "./messages";
import type { Choices, Reader } from "./store/reader";

/** Percentages: no part disappears. */
const MIN_SHARE = 15;
const MAX_SHARE = 85;
const STEP = 2;

interface Sides {
  label: string;
  /** The part before the divider, and the one after it. */
  before: HTMLElement;
  after: HTMLElement;
  /** The choice that keeps the percentage of the part before. */
  choice: (share: number, isStacked: boolean) => Choices;
}

/** Makes the dividers of a page. */
export function makeDividers(reader: Reader): void {
  const [left, right] = [byId("left"), byId("results")];
  const code = (share: number, isStacked: boolean) => (isStacked ? { rows: share } : { cols: share });
  right.after(new Divider(reader, { label: t("dividers.code"), before: left, after: right, choice: code }).element);
  const [preview, own] = [document.querySelector<HTMLElement>(".preview"), document.querySelector<HTMLElement>(".console")];
  if (preview === null || own === null) return;
  const console = (share: number) => ({ console: 100 - share });
  own.before(new Divider(reader, { label: t("dividers.preview"), before: preview, after: own, choice: console }).element);
}

class Divider {
  readonly element = element("div", {
    class: "divider", role: "separator", tabindex: "0", "aria-valuemin": String(MIN_SHARE), "aria-valuemax": String(MAX_SHARE),
    title: t("dividers.hint"),
  });
  private readonly reader: Reader;
  private readonly sides: Sides;

  constructor(reader: Reader, sides: Sides) {
    this.reader = reader;
    this.sides = sides;
    this.element.setAttribute("aria-label", sides.label);
    if (sides.before.id !== "") this.element.setAttribute("aria-controls", sides.before.id);
    this.element.addEventListener("pointerdown", (event) => this.drag(event));
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.element.addEventListener("dblclick", () => this.reset());
    const observer = new ResizeObserver(() => this.follow());
    observer.observe(sides.before);
    observer.observe(sides.after);
    this.follow();
  }

  /** Gives the part before the divider this percentage. */
  private set(share: number): void {
    this.reader.choose(this.sides.choice(share, this.isStacked));
  }

  private reset(): void {
    this.reader.forget(...(Object.keys(this.sides.choice(0, this.isStacked)) as (keyof Choices)[]));
  }

  private get isStacked(): boolean {
    const { before, after } = this.sides;
    return after.getBoundingClientRect().top >= before.getBoundingClientRect().bottom - 1;
  }

  /** `shareAt`: of the part before the divider, if that is there. */
  private get extent(): { share: number; shareAt: (x: number, y: number) => number } {
    const [before, after] = [this.sides.before.getBoundingClientRect(), this.sides.after.getBoundingClientRect()];
    const { isStacked } = this;
    const besides = isMirrored() ? [before.right, after.right, after.left] : [before.left, after.left, after.right];
    const [start = 0, middle = 0, end = 0] = isStacked ? [before.top, after.top, after.bottom] : besides;
    const share = (at: number) => (100 * (at - start)) / (end - start || 1);
    return { share: share(middle), shareAt: (x, y) => share(isStacked ? y : x) };
  }

  private follow(): void {
    this.element.setAttribute("aria-orientation", this.isStacked ? "horizontal" : "vertical");
    this.element.setAttribute("aria-valuenow", String(Math.round(this.extent.share)));
  }

  private move(share: number): void {
    this.set(Math.round(10 * Math.min(Math.max(share, MIN_SHARE), MAX_SHARE)) / 10);
  }

  private drag(event: PointerEvent): void {
    if (event.button !== 0) return;
    event.preventDefault();
    this.element.setPointerCapture(event.pointerId);
    const follow = ({ clientX, clientY }: PointerEvent) => {
      this.move(this.extent.shareAt(clientX, clientY));
    };
    this.element.addEventListener("pointermove", follow);
    const end = () => this.element.removeEventListener("pointermove", follow);
    this.element.addEventListener("lostpointercapture", end, { once: true });
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { share } = this.extent;
    const besides = isMirrored() ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
    const [less, more] = this.isStacked ? ["ArrowUp", "ArrowDown"] : besides;
    if (event.key === less) this.move(share - STEP);
    else if (event.key === more) this.move(share + STEP);
    else if (event.key === "Home") this.move(MIN_SHARE);
    else if (event.key === "End") this.move(MAX_SHARE);
    else if (event.key === "Enter") this.reset();
    else return;
    event.preventDefault();
  }
}
