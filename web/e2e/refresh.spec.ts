// Stylesheets that are shown as soon as they are edited.

import { apart } from "./chromium";
import { shown, withFiles } from "./documents";
import { expect, test } from "./service";
import { replaceCode } from "./typing";

test.use({ launchOptions: apart });

const programs: readonly [language: string, files: Readonly<Record<string, string>>][] = [
  ["web", { "index.html": "<!doctype html><link rel=stylesheet href=a.css><p>x</p>", "a.css": "p { color: rgb(0, 0, 1) }\n" }],
  ["react", {
    "App.jsx": "import './b.css'; import './a.css'; export default () => <p>x</p>;",
    "a.css": "/* mine */\np { color: #000001 }\n", "b.css": "p { font-size: 20px }",
  }],
  ["vue", {
    "App.vue": "<script setup>import './a.css'</script><template><p>x</p></template><style>p { font-size: 20px }</style>",
    "a.css": "p { color: rgb(0, 0, 1) }",
  }],
];

for (const [language, files] of programs) {
  const tag = language === "vue" ? "@full" : [];
  test(`${language}: a change of a stylesheet is shown without a request, and the page keeps its state`, { tag }, async ({ page, service }) => {
    await page.goto(`${service.url}/embed?${withFiles(`lang=${language}&run=load&refresh=1`, files)}`);
    const p = shown(page.mainFrame()).locator("p");
    await expect(p).toHaveCSS("color", "rgb(0, 0, 1)");
    await p.evaluate((element) => (element.textContent = "state"));
    let runs = 0;
    page.on("request", (request) => void (request.method() === "POST" && runs++));
    await page.getByRole("tab", { name: "a.css" }).click();
    for (const color of ["rgb(0, 0, 2)", "rgb(0, 0, 3)"]) {
      await replaceCode(page.locator(".cm-content"), `p { color: ${color}; }`);
      await expect(p).toHaveCSS("color", color);
    }
    await expect(p).toHaveText("state");
    if (language !== "web") await expect(p).toHaveCSS("font-size", "20px");
    expect(runs).toBe(0);
    // A document that is loaded again is the one of the run, with the stylesheet of now.
    await page.getByRole("button", { name: "Reload" }).click();
    await expect(p).toHaveText("x");
    await expect(p).toHaveCSS("color", "rgb(0, 0, 3)");
    // A change that needs the bundler waits for Run.
    await replaceCode(page.locator(".cm-content"), "p { color: rgb(0, 0, 4); background: url(none.svg) }");
    await expect(p).toHaveCSS("color", "rgb(0, 0, 1)");
  });
}
