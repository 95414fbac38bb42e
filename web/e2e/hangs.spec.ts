// Pages that hang: the editor goes on, offers Stop, and does not start them unasked.

import type { Frame } from "@playwright/test";

import { apart } from "./chromium";
import { lines, shown, withFiles } from "./documents";
import { FULL, editorIn, expect, test } from "./service";
import { replaceCode } from "./typing";

test.use({ launchOptions: apart });

interface Case {
  how: string;
  language: string;
  files: Readonly<Record<string, string>>;
  /** Makes it hang, unless it does so at once. */
  trigger?: (editor: Frame) => Promise<void>;
}

const atOnce: Case = {
  how: "at once", language: "web",
  files: { "index.html": "<!doctype html><script>console.log('before'); while (true) {}</script>" },
};
const inHandler: Case = {
  how: "in an event handler", language: "web",
  files: { "index.html": `<!doctype html><button onclick="console.log('before'); while (true) {}">x</button>` },
  async trigger(editor) {
    const button = shown(editor).locator("button");
    await button.waitFor();
    // It has answered, and counts as a page that runs well.
    await editor.waitForFunction(() => Object.keys(localStorage).every((key) => !key.startsWith("sandpiper:hung:")));
    // The page cannot answer that the event was dispatched: Stop removes the frame.
    void button.dispatchEvent("click").catch(() => {});
  },
};
const inReact: Case = {
  how: "in an effect of React", language: "react",
  files: {
    "App.jsx": `import { useEffect } from "react";
      export default function App() { useEffect(() => { console.log("before"); while (true) {} }); return <p>x</p>; }`,
  },
};
const inVue: Case = {
  how: "in a setup of Vue", language: "vue",
  files: { "App.vue": "<script setup>console.log('before'); while (true) {}</script><template><p>x</p></template>" },
};

/** Has the page hang; the editor goes on. */
async function hang(editor: Frame, { trigger }: Case): Promise<void> {
  await trigger?.(editor);
  await expect(lines(editor)).toContainText(["before"]);

  // It hangs now: the page cannot answer, the editor's timers go on.
  await editor.evaluate(() => {
    Object.assign(window, { ticks: 0 });
    setInterval(() => Object.assign(window, { ticks: Number(Reflect.get(window, "ticks")) + 1 }), 20);
  });
  const ticks = () => editor.evaluate(() => Number(Reflect.get(window, "ticks")));
  await expect(editor.locator(".preview-banner")).toContainText("not responding");
  const before = await ticks();
  await expect.poll(ticks).toBeGreaterThan(before + 10);
}

/** A reload does not start the page that hung; Run does, and it hangs again. */
async function reload(editor: Frame, { trigger }: Case): Promise<Frame> {
  const page = editor.page();
  await page.reload();
  const again = await editorIn(page);
  await expect(again.locator(".preview-banner")).toContainText("did not respond last time");
  await expect(again.locator(".preview iframe")).toHaveCount(0);
  await again.locator("#run").click();
  await trigger?.(again);
  return again;
}

async function stop(editor: Frame): Promise<void> {
  await editor.locator(".preview-stop").click();
  await expect(editor.locator(".preview iframe")).toHaveCount(0);
  await expect(editor.locator(".preview-banner")).toHaveText("The page was stopped.");
  await expect(editor.getByRole("button", { name: "Reload" })).toBeFocused();
}

const framed = (url: string, { language, files }: Case) =>
  `<iframe src="${url}/embed?${withFiles(`lang=${language}&run=load`, files)}" width="1000" height="600"></iframe>`;
const previewOf = async (editor: Frame) => (await editor.locator(".preview iframe").getAttribute("src")) ?? "";

for (const one of [inHandler, atOnce, inReact, inVue]) {
  const tag = one === inHandler ? [] : "@full";
  test(`a page that hangs ${one.how}, from an origin of its own: the editor goes on`, { tag }, async ({
    page, hosts, reverseProxy, serve,
  }) => {
    const origin = `http://preview.localhost:${reverseProxy.port}`;
    const { url } = await serve(`--languages=${one.language}`, `--preview-origin=${origin}`);
    reverseProxy.passTo(url);
    await page.goto(hosts.hostPage(framed(url, one)));
    const editor = await editorIn(page);
    expect(new URL(await previewOf(editor)).origin).toBe(origin);
    await hang(editor, one);
    await stop(await reload(editor, one));
  });
}

test("a page that hangs, from the editor's origin: the editor goes on; after Stop another runs", async ({ page, service }) => {
  await page.goto(service.hostPage(framed(service.url, atOnce)));
  const first = await editorIn(page);
  expect(new URL(await previewOf(first), service.url).origin).toBe(service.url);
  await hang(first, atOnce);
  // The memory over a reload is the editor's, from any origin: the test above has it.
  const editor = FULL ? await reload(first, atOnce) : first;
  await stop(editor);
  // Other code, in an editor beside it or after it, is none that hung.
  const other = { ...atOnce, files: { "index.html": "<!doctype html><p>other</p>" } };
  const beside = await page.context().newPage();
  await beside.goto(service.hostPage(framed(service.url, other)));
  await expect(shown(await editorIn(beside)).locator("p")).toHaveText("other");
  await beside.close();
  await replaceCode(editor.locator(".cm-content"), "<!doctype html><p>fine</p><script>console.log('well')</script>");
  await editor.locator("#run").click();
  await expect(shown(editor).locator("p")).toHaveText("fine");
  await expect(lines(editor)).toContainText(["well"]);
  await expect(editor.locator(".preview-banner")).toHaveText("");
  // It runs unasked again, also after one that was ended before it could answer.
  for (let count = 0; count < 2; count++) {
    await page.reload();
    const again = await editorIn(page);
    await expect(again.locator(".preview iframe")).toHaveCount(1);
    await page.evaluate(() => {
      const message = { app: "sandpiper", v: 1, type: "setFiles", payload: { files: [{ content: "" }] } };
      document.querySelector("iframe")?.contentWindow?.postMessage(message, "*");
    });
    await expect(again.locator(".preview iframe")).toHaveCount(0);
  }
});
