// Offers below the status of a run: to run it again in another way.

import { byId, element, keepingFocus } from "../dom";

export interface Offer {
  words: string;
  label: string;
  act: () => void;
}

export class Offers {
  private labels = "";
  private readonly line = element("p", { class: "offers", role: "status" });

  constructor() {
    byId("input").after(this.line);
  }

  /** Shows these offers in place of others. The same ones are not announced again. */
  show(offers: readonly Offer[]): void {
    const labels = offers.map(({ label }) => label).join("\n");
    if (labels === this.labels) return;
    this.labels = labels;
    const parts = offers.flatMap(({ words, label, act }) => {
      const made = element("button", { type: "button", class: "offer" }, label);
      made.addEventListener("click", act);
      return words === "" ? [made] : [element("span", {}, words), made];
    });
    keepingFocus(byId("results"), () => this.line.replaceChildren(...parts));
  }
}
