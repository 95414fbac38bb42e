// Shows the meaning of errors in plain words, below the errors of a run.

import "../styles/explained.css";

import { element } from "../dom";
import type { Mark } from "../editor/marks";
import { Later } from "../later";
import { t } from "../messages";
import { meaningsOf, type Explanation } from "./explain";

/** In a longer text, only these lines of its end are read: an error ends a program. */
const LINES_READ = 100;

export class Explainer {
  private readonly place: HTMLElement;
  private readonly explanations: Later<readonly Explanation[]>;
  private shown: HTMLElement | null = null;

  /** `url` is the address of the explanations. */
  constructor(url: string, place: HTMLElement) {
    this.place = place;
    this.explanations = new Later(async () => {
      const answer = await fetch(url);
      if (!answer.ok) throw new Error(`the explanations were answered ${answer.status}`);
      return (await answer.json()) as readonly Explanation[];
    });
  }

  /** Explains the marks of a run or, without any, its standard error. */
  async show(marks: readonly Mark[], stderr: string): Promise<void> {
    this.shown?.remove();
    if (stderr === "") return;
    const messages =
      marks.length > 0 ? marks.map(({ message }) => message) : stderr.trimEnd().split("\n").slice(-LINES_READ);
    // It is there before its text, so that screen readers announce the text.
    const shown = element("div", { class: "explained", role: "status" });
    this.shown = shown;
    this.place.append(shown);
    // Without them, the errors are still there to read.
    const explanations = await this.explanations.get().catch(() => []);
    const meanings = meaningsOf(explanations, messages);
    if (meanings.length === 0) return shown.remove();
    shown.append(element("h2", {}, t("output.explained")), ...meanings.map((meaning) => element("p", { lang: "en" }, meaning)));
  }
}
