// The faults that axe finds. It runs in the page itself: in a page of its own,
// as its driver for Playwright does, every look takes seconds.

import type { Frame } from "@playwright/test";
import axe from "axe-core";

const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** The rules that are broken, and where, in the frame or in these parts of it, without the frames inside. */
export async function faults(frame: Frame, parts: readonly string[] = ["html"]): Promise<string[]> {
  // Landmarks and the like are those of a whole page.
  const values = frame.parentFrame() === null ? [...WCAG, "best-practice"] : WCAG;
  if (!(await frame.evaluate(() => "axe" in window))) await frame.evaluate(axe.source);
  return frame.evaluate(
    async ({ include, values }) => {
      const { run } = (window as unknown as { axe: typeof axe }).axe;
      const runOnly = { type: "tag" as const, values };
      // An experimental rule, which no tag of these has.
      const rules = { "label-content-name-mismatch": { enabled: true } };
      const { violations } = await run({ include }, { runOnly, rules, resultTypes: ["violations"], iframes: false });
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary ?? ""}`),
      );
    },
    { include: parts.map((part) => [part]), values },
  );
}

/** The faults in both themes of the system: its colours are all that differs. */
export async function faultsInThemes(frame: Frame): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await frame.page().emulateMedia({ colorScheme });
    found.push(...(await faults(frame)).map((fault) => `${colorScheme}: ${fault}`));
  }
  return found;
}
