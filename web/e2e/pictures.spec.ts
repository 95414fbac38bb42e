// The files that programs leave: shown, saved, reported, and harmless.

import { readFileSync } from "node:fs";

import type { Page } from "@playwright/test";
import { strFromU8, unzipSync } from "fflate";
import { runnerImport } from "vite";

import { faults } from "./accessibility";
import { withFiles } from "./documents";
import { drawn, editorIn, expect, held, test } from "./service";

/** A program that leaves these files; a name that begins with / is one of the whole box. */
const leaving = (files: Readonly<Record<string, string>>) => `import os
for path, content in ${JSON.stringify(files)}.items():
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    open(path, "w").write(content)
`;

const address = (url: string, query: string, code: string) => `${url}/embed?${withFiles(`lang=python${query}`, { "main.py": code })}`;

/** A picture that tries all that an image could try; `url` is asked if it succeeds. */
const hostile = (url: string, more = "") => `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 10 10" onload="top.document.title = 'ran'">
  <title>A &lt;hostile&gt; picture</title>${more}
  <script>top.document.title = "ran"</script><script href="${url}/script.js"></script>
  <image href="${url}/image.png" width="1" height="1"/><use xlink:href="${url}/use.svg#a"/>
  <a href="${url}/link"><rect width="10" height="10" fill="red"/></a></svg>`;

/** Parts of a picture that is not shown as an image, since they can take any time. */
const unbounded = (url: string) => `<style>@import url(${url}/import.css);</style>
  <foreignObject width="10" height="10"><iframe xmlns="http://www.w3.org/1999/xhtml" src="${url}/frame"></iframe>
  <img xmlns="http://www.w3.org/1999/xhtml" src="${url}/in.png" onerror="top.document.title = 'ran'"/></foreignObject>`;

/** A picture of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

/** The paths that the page asks of this origin; a path that a policy blocks is asked for, but not answered. */
function watched(page: Page, origin: string) {
  const paths: { asked: string[]; answered: string[] } = { asked: [], answered: [] };
  const note = (list: string[], url: string) => {
    const { origin: own, pathname } = new URL(url);
    if (own === origin) list.push(pathname);
  };
  page.on("request", (request) => note(paths.asked, request.url()));
  page.on("response", (response) => note(paths.answered, response.url()));
  return paths;
}

test("a hostile picture would act in a page of its own", async ({ page, service }) => {
  const { origin } = service;
  const paths = watched(page, origin);
  await page.goto(service.hostPage(hostile(origin, unbounded(origin))));
  await expect(page).toHaveTitle("ran");
  await expect.poll(() => paths.answered).toEqual(expect.arrayContaining(["/import.css", "/image.png", "/frame", "/in.png"]));
});

test("nothing that a program leaves runs, loads or becomes markup", async ({ page, service, complaints }) => {
  const { origin } = service;
  const paths = watched(page, origin);
  const name = "<img src=x onerror=alert(1)>.txt";
  const code = leaving({
    "a.svg": hostile(origin),
    "d.svg": hostile(origin, unbounded(origin)),
    "b.csv": `a,<i>b</i>\n=cmd|' /C calc'!A0,<img src=${origin}/csv.png>\n`,
    "c.html": `<img src="${origin}/page.png"><p>page</p><script>try { top.document.title = "ran" } catch { document.body.append("apart") }</script>`,
    [name]: `<img src="${origin}/text.png">`,
  }) + `import base64\nopen("a.png", "wb").write(base64.b64decode("${PIXEL}"))\n`;
  await page.goto(address(service.url, "&artifacts=1", code));
  await page.locator("#run").click();
  const files = page.locator(".left-file");
  await expect(files).toHaveCount(6);
  const picture = page.getByRole("img", { name: "A <hostile> picture" });
  expect(await picture.getAttribute("src")).toMatch(/^data:image\/svg\+xml;/);
  // It was drawn: it has been read to its end.
  await picture.evaluate((image: HTMLImageElement) => image.decode());
  expect(await picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(0);
  const pixel = page.getByRole("img", { name: "a.png" });
  expect(await pixel.getAttribute("src")).toBe(`data:image/png;base64,${PIXEL}`);
  await pixel.evaluate((image: HTMLImageElement) => image.decode());
  expect(await pixel.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1);
  await expect(page.locator(".left-file td")).toHaveText(["=cmd|' /C calc'!A0", `<img src=${origin}/csv.png>`]);
  await expect(page.getByRole("heading", { name })).toBeVisible();
  await expect(page.locator(".left-file :is(svg, script, iframe, object, embed)")).toHaveCount(0);
  await expect(page.locator(".left-file img")).toHaveCount(2);
  await expect(page.getByRole("button", { name: "Show page d.svg" })).toBeVisible();
  expect(complaints).toEqual([]);
  expect(paths.asked).toEqual([]);
  // A page is shown if it is asked for, where it reaches nothing.
  await page.getByRole("button", { name: "Show page c.html" }).click();
  const shown = page.frameLocator(".left-file iframe").frameLocator("iframe");
  await expect(shown.locator("body")).toContainText("apart");
  expect(await page.title()).not.toBe("ran");
  expect(paths.answered).toEqual([]);
});

test("files are shown and saved, one and all, and reported to the embedding page", async ({ page, service }) => {
  const files = { "out/data.csv": `n\n${"1\n".repeat(700)}`, "notes.txt": "one\n" };
  const code = leaving(files) + 'open("big.bin", "w").write("0" * (5 << 20))\n';
  await page.goto(service.hostPage(`<iframe src="${address(service.url, "&artifacts=1", code)}" width="800" height="600"></iframe>`));
  const frame = await editorIn(page);
  const ask = (type: string, payload: object = {}) =>
    page.evaluate(
      (message) =>
        new Promise((resolve) => {
          const own = ({ data }: MessageEvent) => {
            if (data.id !== message.id) return;
            removeEventListener("message", own);
            resolve(data.payload ?? data.error);
          };
          addEventListener("message", own);
          document.querySelector("iframe")?.contentWindow?.postMessage(message, "*");
        }),
      { app: "sandpiper", v: 1, id: `${type} ${JSON.stringify(payload)}`, type, payload },
    );
  const end = page.evaluate(
    () => new Promise((resolve) => addEventListener("message", ({ data }) => data.type === "run:end" && resolve(data.payload))),
  );
  await ask("run");
  expect(await end).toMatchObject({
    exit: 0,
    artifacts: [
      { path: "notes.txt", type: "text/plain", size: 4 },
      { path: "out/data.csv", type: "text/csv" },
    ],
  });
  expect(await ask("getArtifact", { path: "notes.txt" })).toEqual({ content: "one\n", encoding: "utf8" });
  expect(await ask("getArtifact", { path: "none" })).toMatch(/left no file/);
  await expect(frame.getByRole("table", { name: "out/data.csv: 700 rows, the first 500 shown" })).toBeVisible();
  await expect(frame.locator(".skipped")).toHaveText("big.bin is left out: it is too large.");
  const saved = async (name: string) => {
    const download = page.waitForEvent("download");
    await frame.getByRole("button", { name, exact: true }).click();
    return download;
  };
  const one = await saved("Save notes.txt");
  expect([one.suggestedFilename(), readFileSync(await one.path(), "utf8")]).toEqual(["notes.txt", "one\n"]);
  const all = unzipSync(readFileSync(await (await saved("Save all")).path()));
  const contents = Object.entries(all).map(([path, bytes]) => [path, strFromU8(bytes)]);
  expect(Object.fromEntries(contents)).toEqual(files);
});

test("files that are there too late are not shown below output that was cleared", async ({ page, service }) => {
  const { release } = await held(page, (path) => path.startsWith("assets/artifacts-"));
  const asked = page.waitForRequest(/artifacts-.*\.js$/);
  await page.goto(address(service.url, "&artifacts=1", leaving({ "a.txt": "a" }) + "print(1)"));
  await page.locator("#run").click();
  const url = (await asked).url();
  await page.getByRole("button", { name: "Clear", exact: true }).press("Enter");
  await expect(page.locator("#streams .invitation")).toBeVisible();
  release();
  await page.evaluate((url) => import(url), url);
  await drawn(page);
  await expect(page.locator(".left-file")).toHaveCount(0);
});

test("files that the server could not read are reported", async ({ page, service }) => {
  await page.route("**/api/run", async (route) => {
    const response = await route.fetch();
    const skipped = '"skipped":[{"path":".","reason":"unreadable"}]';
    await route.fulfill({ response, body: (await response.text()).replace('"skipped":[]', skipped) });
  });
  await page.goto(address(service.url, "&artifacts=1", "print(1)"));
  await page.locator("#run").click();
  await expect(page.locator(".skipped")).toHaveText("The files could not be read.");
});

test("a program that draws is offered to be run with pictures: by one press, for this visit", async ({ page, service }) => {
  const code = `try:\n    import turtle\nexcept ImportError:\n    pass\n${leaving({ "a.txt": "\u001b[31mleft\u001b[0m" })}`;
  await page.goto(address(service.url, "", code));
  const run = page.locator("#run");
  await run.click();
  const offer = page.getByRole("button", { name: "Run and show pictures" });
  await expect(page.locator(".offers")).toHaveText("This program draws.Run and show pictures");
  await offer.focus();
  await page.keyboard.press("Enter");
  // The server sends its colours, and so all of it, as base64.
  await expect(page.locator(".left-file .file-text")).toHaveText("left");
  await expect(offer).toHaveCount(0);
  await expect(page.locator("#results")).toBeFocused();
  await run.click();
  await expect(page.locator(".left-file")).toHaveCount(1);
  // Nothing is offered to a program that does not draw.
  await page.goto("about:blank");
  await page.goto(address(service.url, "", "print('import turtle')  # import turtle"));
  await run.click();
  await expect(page.locator("#status")).toContainText("Finished");
  await expect(page.locator(".offers")).toBeEmpty();
});

/** A line of 100 pixels in 4 seconds, from left to right; one segment is wrong. */
const recording = JSON.stringify({
  width: 100, height: 20, duration: 4000, truncated: false,
  segments: [
    [0, "view", 0, 0], [0, "background", "#ffffff"], [0, "line", 1, 1, 20, "#ff0000", [0, 10]],
    ...Array.from({ length: 100 }, (_, x) => [40 * (x + 1), "extend", 1, [x + 1, 10]]),
    [4000, "background", "url(x)"],
  ],
});
const drawing = leaving({
  "/tmp/.display/001.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="20"><title>A line</title></svg>',
  "/tmp/.display/001.json": recording,
});

test.describe("a drawing", () => {
  test.use({ bypassCSP: true });
  const isRed = (page: Page, x: number) =>
    page.locator("canvas").evaluate((canvas: HTMLCanvasElement, x) => {
      const [red, green] = canvas.getContext("2d")?.getImageData(x * (canvas.width / 100), canvas.height / 2, 1, 1).data ?? [];
      return red === 255 && green === 0;
    }, x);

  test("is played, paused and played again", async ({ page, service }) => {
    await page.goto(address(service.url, "&artifacts=1", drawing));
    await page.locator(".cm-content").waitFor();
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 3_600_000);
    await page.locator("#run").click();
    await expect(page.getByRole("img", { name: "A line" })).toBeVisible();
    // The recording is no file to save.
    await expect(page.getByRole("button", { name: /^Save (all|figure)/ })).toHaveText("Save");
    await page.clock.runFor(2000);
    expect([await isRed(page, 25), await isRed(page, 90)]).toEqual([true, false]);
    await page.getByRole("button", { name: "Pause" }).press("Enter");
    await page.clock.runFor(5000);
    expect(await isRed(page, 90)).toBe(false);
    await page.getByRole("combobox", { name: "Speed" }).selectOption("2");
    await page.getByRole("button", { name: "Play", exact: true }).press("Enter");
    await page.clock.runFor(500);
    expect(await isRed(page, 60)).toBe(true);
    await page.clock.runFor(1000);
    // At its end there is the picture itself.
    await expect(page.locator("img[alt='A line']")).toBeVisible();
    await expect(page.locator("canvas")).toBeHidden();
    await expect(page.getByRole("button", { name: "Play again" })).toBeFocused();
  });

  test("is shown as it ends if less motion is wanted, with room for it on a phone", async ({ page, service }) => {
    await page.setViewportSize({ width: 320, height: 640 });
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.goto(address(service.url, "&artifacts=1", drawing));
    await page.locator("#run").click();
    await expect(page.getByRole("button", { name: "Play again" })).toBeVisible();
    await expect(page.locator("img[alt='A line']")).toBeVisible();
    await expect(page.locator("canvas")).toBeHidden();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
    expect(await faults(page.mainFrame())).toEqual([]);
  });
});

test("the recording of a real drawing is read, each of its changes", async ({ service }) => {
  const code = `import turtle as t
t.bgcolor("#eeeeff")
t.begin_fill()
t.circle(40)
t.end_fill()
t.dot(9, "red")
t.write("a\\nb", font=("Courier", 12, "bold"), align="center")
t.undo()
t.penup()
t.goto(-90, 20)
t.stamp()
t.done()
`;
  const response = await fetch(`${service.url}/api/run`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ language: "python", entryFile: "a.py", files: [{ path: "a.py", content: code }], artifacts: true }),
  });
  const { artifacts } = (await response.json()) as { artifacts: { type: string; content: string }[] };
  const text = artifacts.find(({ type }) => type === "application/json")?.content ?? "";
  const { segments } = JSON.parse(text) as { segments: unknown[][] };
  const kinds = ["view", "background", "line", "dot", "polygon", "text", "extend", "remove"];
  expect(segments.map(([, kind]) => kind)).toEqual(expect.arrayContaining(kinds));
  // It imports what only Vite can load.
  const reader = await runnerImport<typeof import("../src/turtle/recording")>("./src/turtle/recording.ts", { configFile: false });
  expect(reader.module.readRecording(text)?.segments).toHaveLength(segments.length);
});

test("the examples of the index page: a plot, a drawing to its end, a dialogue", async ({ page, service }) => {
  await page.goto(`${service.url}/`);
  const frame = page.frameLocator("iframe[name=live]");
  const run = async (name: string, code: string) => {
    await page.getByRole("link", { name, exact: true }).click();
    await expect(frame.locator(".cm-content")).toContainText(code);
    await frame.locator("#run").click();
  };

  await test.step("a plot", async () => {
    await run("A plot", "plt.show()");
    const picture = frame.locator(".left-file img");
    await expect(picture).toBeVisible();
    await picture.evaluate((image: HTMLImageElement) => image.decode());
    expect(await picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(0);
  });

  await test.step("a drawing", async () => {
    await run("A drawing", "turtle.done()");
    const canvas = frame.locator(".left-file canvas");
    const drawn = () => canvas.evaluate((own: HTMLCanvasElement) => own.toDataURL());
    await expect(canvas).toBeVisible();
    const before = await drawn();
    await expect.poll(drawn).not.toBe(before);
    await frame.getByRole("combobox", { name: "Speed" }).selectOption("20");
    await expect(frame.getByRole("button", { name: "Play again" })).toBeVisible();
    await expect(frame.locator(".left-file img")).toBeVisible();
  });

  await test.step("a dialogue", async () => {
    await run("A dialogue", "Guesses the number");
    const line = frame.getByRole("textbox", { name: "Input", exact: true });
    const said = frame.locator(".transcript pre");
    for (const guess of [50, 25, 13, 7, 4, 2, 1]) {
      await expect(said).toHaveText(new RegExp(`more than ${guess}\\? \\(y/n\\) $`));
      await line.fill("n");
      await line.press("Enter");
    }
    await expect(said).toContainText("You thought of 1. I asked 7 times.");
    await expect(frame.locator("#status")).toContainText("Finished");
  });
});
