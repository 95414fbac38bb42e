// The scenes to photograph: each is a page, and the steps before the picture.

import type { Page } from "@playwright/test";

import { languages } from "../e2e/service";

export interface Scene {
  name: string;
  /** Below the service's address; or a whole page that embeds it, made from that address. */
  page: string | ((url: string) => string);
  /** Of a service of its own. */
  flags?: readonly string[];
  /** The steps before the picture is taken. */
  act?: (page: Page) => Promise<void>;
  sizes: readonly Size[];
  /** Its wide pictures stand in the README, in both themes. */
  inReadme?: boolean;
  /** Whether the page is an editor: it is waited for. True unless said otherwise. */
  isEditor?: boolean;
  /** The whole page, however long. */
  isWhole?: boolean;
}

export interface Size {
  width: number;
  height: number;
}

const narrow = { width: 320, height: 640 };
const wide = { width: 1280, height: 600 };
const both = [narrow, wide];
const middle = { width: 500, height: 500 };
const low = { width: 800, height: 400 };
/** As embeds often are. */
const frames = [
  narrow,
  middle,
  { width: 600, height: 400 },
  low,
  { width: 800, height: 500 },
  { width: 1000, height: 600 },
];

export const scenes: readonly Scene[] = [
  ...languages.map((language) => ({
    name: `run-${language}`,
    page: `embed?lang=${language}`,
    act: run,
    sizes: both,
    inReadme: ["mysql", "react"].includes(language),
  })),
  ...["python", "java", "react"].map((language) => ({
    name: `before-${language}`,
    page: `embed?lang=${language}`,
    sizes: frames,
  })),
  ...["python", "web"].map((language) => ({ name: `ran-${language}`, page: `embed?lang=${language}`, act: run, sizes: frames })),
  {
    name: "error-compiler",
    page: editorWith("cpp", {
      "main.cpp": `#include <iostream>
#include <vector>

int main() {
    std::vector<int> numbers{3, 1, 4};
    int sum = 0
    for (int number : numbers) sum += nubmer;
    std::cout << "sum: " << sum << '\\n';
}
`,
    }),
    act: run,
    sizes: both,
  },
  {
    name: "error-runtime",
    page: editorWith("python", {
      "main.py": `from prices import total

basket = {"tea": 2, "scone": 3}
print("Adding up", len(basket), "things")
print(total(basket))
`,
      "prices.py": `PRICES = {"tea": 2.5}


def total(basket):
    return sum(PRICES[name] * count for name, count in basket.items())
`,
    }),
    act: run,
    sizes: both,
  },
  {
    name: "error-page",
    page: editorWith("react", {
      "App.jsx": `export default function App() {
  const user = { name: "Ada", tags: ["maths", "poetry"] };
  console.log("rendering", user);
  console.warn("no picture yet");
  return <button onClick={() => user.friends.length}>{user.name}</button>;
}
`,
    }),
    act: async (page) => {
      await run(page);
      await page.frameLocator(".preview iframe").frameLocator("iframe").locator("button").click();
      await page.locator(".console .level-error").waitFor();
    },
    sizes: both,
  },
  {
    name: "error-in-place-of-the-page",
    page: editorWith("react", { "App.jsx": "export default function App() {\n  return <p>Hi</div>;\n}\n" }),
    act: async (page) => {
      await page.locator("#run").click();
      await page.locator(".stderr").waitFor();
    },
    sizes: frames,
  },
  {
    name: "long-console",
    page: editorWith("web", {
      "index.html": `<!doctype html>
<h1>Tides</h1>
<script>
  for (let hour = 1; hour < 21; hour++) console.log("hour", hour);
</script>
`,
    }),
    act: async (page) => {
      await run(page);
      await page.locator(".console-log > ol > li").nth(19).waitFor();
    },
    sizes: frames,
  },
  ...["hide=toolbar", "hide=output", "layout=rows", "layout=cols"].map((query) => ({
    name: query.replace("=", "-"),
    page: `embed?lang=python&${query}`,
    act: run,
    sizes: [middle, low],
  })),
  {
    name: "colours",
    page: editorWith("python", {
      "main.py": `for style in (1, 4, 30, 31, 32, 33, 34, 35, 36, 90, 41, 42, 44):
    print(f"\\033[{style}mThe quick brown fox, style {style}\\033[0m")
`,
    }),
    act: run,
    sizes: both,
  },
  {
    name: "input",
    page: editorWith("python", { "main.py": 'name = input("Who is there? ")\nprint("Hello", name)\n' }),
    act: run,
    sizes: both,
  },
  {
    name: "dialogue",
    page: editorWith("python", { "main.py": 'name = input("Who is there? ")\nprint("Hello", name)\ninput("And you? ")\n' }, "&input=live"),
    act: async (page) => {
      await page.locator("#run").click();
      await page.locator(".transcript", { hasText: "there? " }).waitFor();
      await page.locator("#live-input").fill("Ada");
      await page.locator("#live-input").press("Enter");
      await page.locator(".transcript", { hasText: "you? " }).waitFor();
    },
    sizes: both,
  },
  {
    name: "files",
    page: editorWith(
      "python",
      {
        "main.py": `import matplotlib.pyplot as plt

plt.plot([12, 30, 85, 64, 140, 22], marker="o")
plt.title("Sandpipers at the shore")
plt.show()
open("birds.csv", "w").write("bird,count\\nsandpiper,353\\nheron,66\\n")
`,
      },
      "&artifacts=1",
    ),
    act: async (page) => {
      await run(page);
      await page.locator(".left-file").nth(1).waitFor();
    },
    sizes: both,
  },
  {
    name: "running",
    page: editorWith("python", { "main.py": "import time\n\ntime.sleep(8)\n" }),
    act: async (page) => {
      await page.locator("#run").click();
      await page.locator("#run.busy").waitFor();
      await page.locator("#status", { hasText: " s" }).waitFor();
    },
    sizes: both,
  },
  {
    name: "wait-for-a-class",
    page: "embed?lang=python",
    flags: ["--compile-rate-limit=1"],
    act: async (page) => {
      await run(page);
      await page.locator("#run").click();
      await page.locator("#status", { hasText: "starts in" }).waitFor();
    },
    sizes: both,
  },
  {
    name: "menu",
    page: "embed?lang=java",
    act: async (page) => page.locator("#menu-button").click(),
    sizes: both,
  },
  {
    name: "dialog",
    page: "embed?lang=java",
    act: async (page) => {
      await page.locator("#menu-button").click();
      await page.getByRole("menuitem", { name: "Embed…" }).click();
      await page.locator("dialog[open]").waitFor();
    },
    sizes: both,
  },
  {
    name: "many-files",
    page: editorWith(
      "python",
      Object.fromEntries(["main", "birds/sandpiper", "birds/heron", "tides", "dunes", "lighthouse", "weather"].map(
        (name) => [`${name}.py`, `print("${name}")\n`],
      )),
    ),
    sizes: both,
  },
  { name: "index", page: "", act: editorInside, sizes: both, isEditor: false, isWhole: true },
  { name: "unknown-language", page: "embed?lang=cobol", sizes: both, isEditor: false },
  {
    name: "embed-js",
    page: (url) => `<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<style>body { max-width: 720px; margin: 24px auto; padding: 0 16px; font: 17px/1.6 Georgia, serif }</style>
<h1>Squares</h1><p>A generator hands out one value after another, and keeps its place in between.</p>
<pre data-lang="python">
def squares(limit):
    for number in range(1, limit + 1):
        yield number ** 2


for square in squares(5):
    print(square)
</pre>
<p>The same in JavaScript, as a page.</p>
<pre data-lang="web" data-run="load">
&lt;h1&gt;Squares&lt;/h1&gt;
&lt;script&gt;
  for (let n = 1; n &lt; 6; n++) console.log(n ** 2);
&lt;/script&gt;
</pre>
<script src="${url}/embed.js"></script>`,
    act: async (page) => {
      const first = page.frameLocator("iframe >> nth=0");
      await first.locator("#run").click();
      await first.locator(".stdout").waitFor();
      await page.frameLocator("iframe >> nth=1").locator(".console-log li").first().waitFor();
    },
    sizes: both,
    isEditor: false,
    isWhole: true,
  },
];

/** The address of an editor that starts with these files. */
function editorWith(language: string, files: Readonly<Record<string, string>>, parameter = ""): string {
  const list = Object.entries(files).map(([path, content]) => ({ path, content }));
  const json = JSON.stringify({ entryFile: list[0]?.path, files: list });
  return `embed?lang=${language}${parameter}#json=${encodeURIComponent(json)}`;
}

async function run(page: Page): Promise<void> {
  await page.locator("#run").click();
  await page.locator("#run.busy").waitFor({ state: "detached" });
  const shown = page.frameLocator(".preview iframe").frameLocator("iframe").locator("body *");
  if ((await page.locator(".preview").count()) > 0) await shown.first().waitFor();
}

async function editorInside(page: Page): Promise<void> {
  await page.frameLocator("iframe").locator(".cm-content").waitFor();
}
