// The kind of a run: as the page's author, the server and the person want it.

import { expect, test } from "vitest";

import { readParameters, type PageConfig } from "../src/config";
import { Modes } from "../src/run/modes";

function modes(query: string, server: string): Modes {
  const [takesStdin, live, artifacts] = ["stdin", "live", "artifacts"].map((word) => server.includes(word));
  return new Modes({ takesStdin, live, artifacts, output: "text" } as PageConfig, readParameters(query));
}

/** The words of those that are true. */
function named(values: object): string {
  const chosen = Object.entries(values).filter(([, value]) => value === true);
  return chosen.map(([name]) => name).join(" ");
}

/** The next run with this in the input box. */
const next = (own: Modes, stdin = "") => named(own.next({ files: [], entryFile: "", stdin }));

// The parameters, the server, a run, the offers, and a run when all of these were taken.
test.each([
  ["", "stdin live artifacts", "", "type pictures", "hasEvents artifacts live"],
  ["", "stdin live", "", "type", "live"],
  ["", "stdin artifacts", "", "pictures", "hasEvents artifacts"],
  ["", "stdin", "", "", ""],
  ["", "live artifacts", "", "pictures", "hasEvents artifacts"],
  ["input=before", "stdin live artifacts", "", "pictures", "hasEvents artifacts"],
  ["input=before", "stdin live", "", "", ""],
  ["input=live", "stdin live artifacts", "hasEvents live", "pictures", "hasEvents artifacts live"],
  ["input=live", "stdin live", "hasEvents live", "", "hasEvents live"],
  ["input=live", "stdin artifacts", "hasEvents", "pictures", "hasEvents artifacts"],
  ["input=live", "live", "hasEvents", "", "hasEvents"],
  ["artifacts=1", "stdin live artifacts", "hasEvents artifacts", "type", "hasEvents artifacts live"],
  ["artifacts=1", "stdin live", "hasEvents", "type", "hasEvents live"],
  ["artifacts=1&input=before", "stdin live artifacts", "hasEvents artifacts", "", "hasEvents artifacts"],
  ["artifacts=1&input=live", "stdin live artifacts", "hasEvents artifacts live", "", "hasEvents artifacts live"],
])("%j at a server of %j", (query, server, first, offers, taken) => {
  const own = modes(query, server);
  expect(next(own)).toBe(first);
  expect(named({ type: own.offersToType, pictures: own.offersPictures })).toBe(offers);
  if (own.offersToType) own.typeLive();
  if (own.offersPictures) own.showPictures();
  expect(next(own)).toBe(taken);
  expect(own.offersPictures).toBe(false);
  expect(next(own)).toBe(taken);
});

test("who fills in the input box, or wants to, gets that input", () => {
  const own = modes("", "stdin live");
  own.typeLive();
  expect([next(own, "5"), next(own)]).toEqual(["", "live"]);
  own.typeBefore();
  expect([next(own), next(own)]).toEqual(["", "live"]);
  const live = modes("input=live", "stdin live");
  expect(next(live, "5")).toBe("hasEvents live");
  live.typeBefore();
  expect([next(live), next(live)]).toEqual(["hasEvents", "hasEvents live"]);
});
