// Keeps a page from taking the keyboard. A page can call focus() at any time; then
// the keys that are meant for the editor would go to the page.

import { ACTIVE, ASK_ACTIVE, IDLE } from "./protocol";

/** Browsers do not report every change of the focus between documents. */
const CHECK_MS = 200;
/** The time in which Tab moves the focus into a frame. */
const TAB_MS = 1000;
/** A person who types needs longer to go into the page by hand. */
const TYPED_MS = 600;
/** A frame that does not answer in this time hangs. */
const ANSWER_MS = 1000;
const MAX_THEFTS = 3;

export class FocusGuard {
  private readonly frame: HTMLIFrameElement;
  /** The page has taken the focus too often. */
  private readonly onThief: () => void;
  private readonly listeners = new AbortController();
  private readonly timer: ReturnType<typeof setInterval>;
  /** The element of the editor that had the focus last; `null` if it was outside the editor. */
  private before: Element | null = null;
  private tabbedMs = -Infinity;
  private typedMs = -Infinity;
  /** Whether the person has moved the focus into the frame, where it still is. */
  private isAccepted = false;
  /** Ends the wait for the answer of the frame, if one is asked for. */
  private answer: ReturnType<typeof setTimeout> | null = null;
  /** The questions that wait until it is known whose the focus is. */
  private waiting: ((isAccepted: boolean) => void)[] = [];
  private thefts = 0;

  constructor(frame: HTMLIFrameElement, onThief: () => void) {
    this.frame = frame;
    this.onThief = onThief;
    if (document.hasFocus()) this.before = document.activeElement;
    const { signal } = this.listeners;
    for (const name of ["focus", "focusin"]) addEventListener(name, () => this.check(), { signal });
    // Within the event the focus cannot be given back: it is still on its way.
    addEventListener("blur", () => setTimeout(() => document.activeElement === frame && this.check()), { signal });
    addEventListener("message", (event) => this.receive(event), { signal });
    addEventListener("keydown", () => (this.typedMs = performance.now()), { signal, capture: true });
    // Not a Tab that the code or a dialog has taken.
    addEventListener("keydown", (event) => this.tab(event), { signal });
    this.timer = setInterval(() => this.check(), CHECK_MS);
  }

  end(): void {
    this.listeners.abort();
    clearInterval(this.timer);
    this.settle();
  }

  /** Whether the person, not the page, has moved the focus into the frame. */
  async isEntered(): Promise<boolean> {
    this.check();
    return this.answer === null ? this.isAccepted : new Promise((resolve) => this.waiting.push(resolve));
  }

  private tab({ key, defaultPrevented }: KeyboardEvent): void {
    if (key === "Tab" && !defaultPrevented) this.tabbedMs = performance.now();
  }

  private check(): void {
    const { activeElement } = document;
    if (activeElement !== this.frame) {
      this.isAccepted = false;
      this.settle();
      this.before = document.hasFocus() ? activeElement : null;
      return;
    }
    if (this.isAccepted || this.answer !== null) return;
    const nowMs = performance.now();
    if (nowMs - this.tabbedMs < TAB_MS) this.isAccepted = true;
    else if (nowMs - this.typedMs < TYPED_MS) this.giveBack();
    else this.ask();
  }

  /**
   * Asks the frame's own page, which the document in it cannot reach, whether the person has pressed something in the
   * frame lately. Keys and buttons of the editor do not count there.
   */
  private ask(): void {
    this.answer = setTimeout(() => this.decide(false), ANSWER_MS);
    this.frame.contentWindow?.postMessage(ASK_ACTIVE, "*");
  }

  private receive(event: MessageEvent): void {
    if (this.answer === null || event.source === null || event.source !== this.frame.contentWindow) return;
    const { data } = event;
    if (data === ACTIVE || data === IDLE) this.decide(data === ACTIVE);
  }

  private decide(isActive: boolean): void {
    this.isAccepted = isActive;
    this.settle();
    if (!isActive) this.giveBack();
  }

  private settle(): void {
    if (this.answer !== null) clearTimeout(this.answer);
    this.answer = null;
    for (const resolve of this.waiting.splice(0)) resolve(this.isAccepted);
  }

  private giveBack(): void {
    const { before, frame } = this;
    this.thefts += 1;
    if (before instanceof HTMLElement && before !== document.body && before.isConnected) before.focus({ preventScroll: true });
    else frame.blur();
    if (this.thefts >= MAX_THEFTS) this.onThief();
  }
}
