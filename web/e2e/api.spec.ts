// The examples of docs/api.md that pages may run, in a page of another site.

import { readFileSync } from "node:fs";

import { expect, test } from "./service";

const page = readFileSync("../docs/api.md", "utf8");
const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, kind = "", text = ""]) => ({ kind, text }));

/** Those that run programs, each with the output that the page promises. */
const examples = blocks.flatMap(({ kind, text }, index) => {
  if (kind !== "js" || !/\/api\/(compile|run)/.test(text)) return [];
  const output = blocks.slice(index).find((block) => block.kind === "text")?.text ?? "";
  return [{ code: text, output: output.trimEnd() }];
});

test("the page has examples", () => {
  expect(examples.length).toBeGreaterThanOrEqual(4);
});

for (const [index, { code, output }] of examples.entries()) {
  test(`example ${index + 1} of the API runs in a page as it is written`, async ({ page, service, complaints }) => {
    await page.goto(service.hostPage(""));
    const printed = page.waitForEvent("console");
    await page.addScriptTag({ type: "module", content: code.replaceAll("http://localhost:8080", service.url) });
    expect((await printed).text()).toBe(output);
    expect(complaints).toEqual([]);
  });
}
