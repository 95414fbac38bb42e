// The console of a page: each call of it, errors that become marks, and what
// it is given instead of storage and dialogs.

import type { Page } from "@playwright/test";

import { apart } from "./chromium";
import { lines, shown, withFiles } from "./documents";
import { embed, expect, test } from "./service";

test.use({ launchOptions: apart });

/** Runs a page whose script is this, at top level. */
async function run(page: Page, url: string, script: string, query = "lang=web") {
  const files = { "index.html": `<!doctype html><p>page</p><script>${script}</script>` };
  await page.goto(`${url}/embed?${withFiles(query, files)}`);
  await page.locator(".cm-content").waitFor();
  await page.click("#run");
  return page.mainFrame();
}

const calls: readonly [code: string, level: string, text: string | RegExp][] = [
  ['console.log("a", 1, true, null, undefined)', "log", "a 1 true null undefined"],
  ['console.info("i")', "info", "Info: i"],
  ['console.warn("w")', "warn", "Warning: w"],
  ['console.error("e")', "error", "Error: e"],
  ['console.debug("d")', "debug", "Debug: d"],
  ['console.log("%s is %d of %i, %f %%", "x", 4.7, "8", 1.5)', "log", "x is 4 of 8, 1.5 %"],
  ['console.log("%cred", "color: red")', "log", "red"],
  ["console.dir({ a: [1, { b: 2 }] })", "log", "{a: Array(2)}"],
  ["console.log([1, 'two', [3]])", "log", 'Array(3) [1, "two", Array(1)]'],
  ["console.log(new Map([['k', 1]]), new Set([2]))", "log", "Map(1) {k: 1} Set(1) {0: 2}"],
  ["console.log(document.querySelector('p'))", "log", "<p>…</p>"],
  ["console.log(function add() {}, class Point {}, 5n, Symbol('s'))", "log", "ƒ add() class Point 5n Symbol(s)"],
  ["console.log({ get x() { throw 1 } })", "log", "{x: (getter)}"],
  ["const self = {}; self.self = self; console.log(self)", "log", "{self: Object (contains itself)}"],
  ["console.table([{ a: 1, b: 2 }, { a: 3 }])", "log", "(index) a b 0 1 2 1 3"],
  ["console.table([{ a: 1, b: 2 }], ['b'])", "log", "(index) b 0 2"],
  ['console.assert(1 === 2, "sums")', "error", "Error: Assertion failed sums"],
  ["console.count('n'); console.count('n')", "log", "n: 2"],
  ["console.countReset('n'); console.count('n')", "log", "n: 1"],
  ["console.time('t'); console.timeLog('t', 'so far')", "log", /^t: [\d.]+ ms so far$/],
  ["console.timeEnd('t')", "log", /^t: [\d.]+ ms$/],
  ["console.timeEnd('u')", "warn", "Warning: There is no timer u"],
  ["function deep() { console.trace('here') } deep()", "log", /^Trace: here\s+at deep index.html:1/],
  ["console.group('g'); console.log('inside'); console.groupEnd()", "log", "inside"],
  ["console.log('outside')", "log", "outside"],
  ["alert('hi')", "info", "Info: alert: hi"],
  ["console.log(confirm('sure?'))", "log", "true"],
  ["console.log(prompt('name?', 'Ada'))", "log", "Ada"],
  ["sessionStorage.a = 1; console.log(sessionStorage.getItem('a'), localStorage.length)", "log", "1 0"],
  ["document.cookie = 'a=1'; console.log(document.cookie)", "log", "a=1"],
  ["console.log(typeof RTCPeerConnection)", "log", "undefined"],
];

test("each call of the console is shown with its level and its words", async ({ page, service }) => {
  // Each ends with a line that tells where it ends; a line at a time has one place.
  const script = calls.map(([code], index) => `{ ${code} }; console.log("end ${index}");`).join(" ");
  const editor = await run(page, service.url, script);
  await expect(lines(editor).filter({ hasText: `end ${calls.length - 1}` })).toHaveCount(1);
  const reported = await lines(editor).evaluateAll((all) =>
    all.map((line) => ({
      level: (line as HTMLElement).dataset["level"],
      text: (line.querySelector(".words") as HTMLElement).innerText.replace(/\s+/g, " ").trim(),
      isInGroup: line.className.includes("in-group"),
    })),
  );
  for (const [index, [code, level, text]] of calls.entries()) {
    const at = reported.findIndex((line) => line.text === `end ${index}`);
    const line = reported[at - 1];
    expect.soft(line?.level, code).toBe(level);
    if (typeof text === "string") expect.soft(line?.text, code).toBe(text);
    else expect.soft(line?.text, code).toMatch(text);
    expect.soft(line?.isInGroup, code).toBe(text === "inside");
  }
  expect(reported.map((line) => line.text)).toContain("Info: prompt: name? (answered \"Ada\": the preview cannot ask)");
});

test("console.clear clears, and a link out of the page is reported", async ({ page, service }) => {
  const editor = await run(page, service.url, `console.log("gone"); console.clear(); console.log("left");
    document.body.insertAdjacentHTML("beforeend", '<a href="other.html">out</a><a id="in" href="#in">in</a>');`);
  await expect(lines(editor)).toHaveText([/left/]);
  await shown(editor).getByText("in", { exact: true }).click();
  await expect(shown(editor).locator("a:target")).toHaveText("in");
  await shown(editor).getByText("out").click();
  await expect(lines(editor)).toHaveText([/left/, /Not opened: other\.html/]);
  await expect(shown(editor).locator("p")).toHaveText("page");
});

test("objects open by keyboard; a line is executed in the page, and answered", async ({ page, service }) => {
  const editor = await run(page, service.url, `var own = 6; console.log({ a: { b: 42 } }); console.log("%ca%cb", "color: rgb(1, 2, 3)", "");`);
  await expect(lines(editor)).toHaveText([/\{a: \{…\}\}/, /ab/]);
  await lines(editor).locator("summary").focus();
  await page.keyboard.press("Enter");
  await lines(editor).locator("summary").nth(1).focus();
  await page.keyboard.press("Space");
  await expect(lines(editor).locator(".tree .tree li")).toHaveText("b: 42");
  await expect(lines(editor).last().getByText("a", { exact: true })).toHaveCSS("color", "rgb(1, 2, 3)");
  const prompt = page.getByRole("textbox", { name: "Code to execute in the page" });
  for (const [code, answer] of [
    ["own * 7", "42"], ["own * 7", "42"], ["'a'", '"a"'], ["({ a: 1 })", "{a: 1}"], ["{ a: 1 }", "{a: 1}"],
    ["let kept = 5", "undefined"], ["kept", "5"], ["own.x.y", "Error: Uncaught TypeError: Cannot read properties of undefined (reading 'y')"],
    ["1 +", "Error: Uncaught SyntaxError: Unexpected end of input"], ["document.querySelector('p')", "<p>…</p>"], ["typeof listeners", '"undefined"'],
  ] as const) {
    const count = await lines(editor).count();
    await prompt.fill(code);
    await prompt.press("Enter");
    await expect(lines(editor).nth(count).locator(".words")).toHaveText(`You: ${code}`);
    await expect(lines(editor).nth(count + 1).locator(".words")).toHaveText(answer);
    await expect(prompt).toBeFocused();
  }
  await prompt.press("ArrowUp");
  await expect(prompt).toHaveValue("typeof listeners");
});

/** Longer than the members of a value that are shown in short. */
const WORDS = "ouch, and all that was said of it besides";
const thrown: readonly [language: string, files: Readonly<Record<string, string>>, file: string, line: number][] = [
  ["web", {
    "index.html": "<!doctype html><button>Go</button><script src='main.js'></script>",
    "main.js": `const go = document.querySelector('button');\n\ngo.onclick = () => {\n  throw new Error('${WORDS}');\n};\n`,
  }, "main.js", 4],
  ["react", {
    "App.jsx": "import Go from './Go';\nexport default () => <Go />;\n",
    "Go.jsx": `export default function Go() {\n  const go = () => {\n    throw new Error('${WORDS}');\n  };\n` +
      "  return <button onClick={go}>Go</button>;\n}\n",
  }, "Go.jsx", 3],
  ["vue", {
    "App.vue": "<script setup>\nimport Go from './Go.vue';\n</script>\n<template><Go /></template>\n",
    "Go.vue": `<script setup>\nfunction go() {\n  throw new Error('${WORDS}');\n}\n</script>\n` +
      "<template>\n  <button @click=\"go\">Go</button>\n</template>\n",
  }, "Go.vue", 3],
];

for (const [language, files, file, line] of thrown) {
  // frameworks.spec.ts shows the lines of errors in React and Vue.
  const tag = language === "web" ? [] : "@full";
  test(`${language}: an error of a handler is a mark, a link and news to the page around`, { tag }, async ({ page, service }) => {
    const editor = await embed(page, service, withFiles(`lang=${language}`, files));
    await page.evaluate(() => {
      Object.assign(window, { news: [] });
      addEventListener("message", ({ data, source }) => {
        const isOurs = source === document.querySelector("iframe")?.contentWindow;
        if (isOurs && data.type.startsWith("preview:")) (Reflect.get(window, "news") as unknown[]).push(data);
      });
    });
    await editor.click("#run");
    await shown(editor).locator("button").click();
    const link = lines(editor).filter({ hasText: "Error: ouch" }).first().locator("> .place");
    await expect(link).toHaveText(`${file}:${line}`);
    await link.click();
    await expect(editor.locator('[role="tab"][aria-selected="true"]')).toContainText(file);
    await expect(editor.locator(".cm-activeLineGutter", { hasText: /\d/ })).toHaveText(String(line));
    await expect(editor.locator(".cm-lint-marker-error")).toHaveCount(1);
    const [mark, number] = await Promise.all([
      editor.locator(".cm-lint-marker-error").boundingBox(),
      editor.locator(".cm-lineNumbers .cm-activeLineGutter").boundingBox(),
    ]);
    expect(Math.abs((mark?.y ?? 0) - (number?.y ?? 99))).toBeLessThan(number?.height ?? 0);
    const news = (await page.evaluate(() => Reflect.get(window, "news"))) as { type: string; payload: object }[];
    const error = news.filter(({ type }) => type === "preview:error").map(({ payload }) => payload);
    expect(error[0]).toMatchObject({ run: 1, text: `Uncaught Error: ${WORDS}`, file, line, leftOut: 0 });
    // A file that was edited since has other lines: it gets no mark.
    await editor.locator(".cm-content").click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("\n");
    await editor.getByRole("button", { name: "Reload" }).click();
    await shown(editor).locator("button").click();
    await expect(lines(editor).filter({ hasText: "Error: ouch" }).first()).toBeVisible();
    await expect(editor.locator(".cm-lint-marker-error")).toHaveCount(1);
  });
}
