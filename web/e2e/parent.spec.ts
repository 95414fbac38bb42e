// The editor and the page that embeds it: messages, embed.js, links, what is
// kept, the menu, and the index page. Runs the examples of docs/embedding.md.

import { readFileSync } from "node:fs";

import type { Page } from "@playwright/test";

import { editorIn, embed, expect, heldRuns, kept, test } from "./service";
import { replaceCode } from "./typing";

/** The example of this name, with the address of the service under test. */
function example(name: string, url: string): string {
  const text = readFileSync("../docs/embedding.md", "utf8");
  const after = text.split(`<!-- example: ${name} -->\n\n`)[1] ?? "";
  const lines = after.split("\n");
  const end = lines.findIndex((line) => line !== "" && !line.startsWith("    "));
  const code = lines.slice(0, end < 0 ? undefined : end).join("\n");
  expect(code).not.toBe("");
  return code.replaceAll("https://run.example", url);
}

test("the example of the messages works as it is written", async ({ page, service }) => {
  await page.goto(service.hostPage(""));
  const printed = page.waitForEvent("console", (message) => message.text().startsWith("the program printed"));
  await page.evaluate(example("messages", service.url));
  expect((await printed).text()).toBe("the program printed 42\n");
});

test("the example of embed.js works as it is written", async ({ page, service, complaints }) => {
  const html = `<script src="${service.url}/embed.js"></script><div data-lang="python" id="exercise"></div>`;
  await page.goto(service.hostPage(html));
  const printed = page.waitForEvent("console", (message) => message.text() === "0 42\n");
  await page.evaluate(`(async () => { ${example("embed.js", service.url)} })()`);
  await printed;
  expect(complaints).toEqual([]);
});

test("embed.js finds the edits of an article that a site without reloads shows again", async ({ page, service }) => {
  const article = `<pre data-lang="python">print("article")</pre>`;
  await page.goto(service.hostPage(`<main>${article}</main><script src="${service.url}/embed.js"></script>`));
  const before = await editorIn(page);
  await before.locator(".cm-content").click();
  await page.keyboard.type("# edited ");
  await kept(before, "# edited ");
  await page.evaluate(`document.querySelector("main").replaceChildren()`);
  await page.evaluate(`document.querySelector("main").innerHTML = ${JSON.stringify(article)}; Sandpiper.embedAll(); 0`);
  await expect((await editorIn(page)).locator(".cm-content")).toContainText("# edited");
});

test("embed.js makes an editor of the code in a copy that a site has kept of its page", async ({ page, service }) => {
  const html = `<main><pre data-lang="python">print("copied")</pre></main><script src="${service.url}/embed.js"></script>`;
  await page.goto(service.hostPage(html));
  await editorIn(page);
  await expect(page.locator("pre")).toBeHidden();
  await page.evaluate(`{
    const main = document.querySelector("main");
    main.replaceWith(main.cloneNode(true));
    Sandpiper.embedAll()[0].send("run");
  }`);
  const frame = await editorIn(page);
  await expect(frame.locator(".stdout pre")).toHaveText("copied\n");
  await expect(page.locator("iframe, .sandpiper-embed")).toHaveCount(2);
});

test("embed.js reserves space, leaves other code alone, and loads editors near the view", async ({ page, service }) => {
  await page.addInitScript(() => {
    const shifts = { sum: 0 };
    Object.assign(window, { shifts });
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) shifts.sum += (entry as unknown as { value: number }).value;
    });
    observer.observe({ type: "layout-shift", buffered: true });
  });
  const html = `<script src="${service.url}/embed.js"></script>
    <pre data-lang="python"><code>\nprint("one")\n</code></pre>
    <pre data-lang="bash">ls</pre>
    <div data-lang="java" data-entry="Main.java"><pre data-file="A.java">class A {}</pre>
    <pre data-file="Main.java">class Main {}</pre></div>
    ${"<p>more</p>".repeat(150)}
    <pre data-lang="c" id="far">int main(void) { return 3; }</pre>`;
  await page.goto(service.hostPage(html));
  const first = page.frameLocator("iframe").first();
  await expect(first.locator(".cm-content")).toHaveText(/print\("one"\)/);
  const second = page.frameLocator("iframe").nth(1);
  await expect(second.locator('[role="tab"]')).toHaveCount(2);
  await expect(second.locator('[aria-selected="true"]')).toContainText("Main.java");
  await expect(page.locator("pre[data-lang=bash]")).toBeVisible();
  await expect(page.locator("pre[data-lang=python]")).toBeHidden();
  await expect(page.locator("iframe")).toHaveCount(2);
  expect(await page.evaluate("window.shifts.sum")).toBe(0);
  await page.locator("#far").scrollIntoViewIfNeeded();
  await expect(page.locator("iframe")).toHaveCount(3);
});

test("an empty element has the starter, code of Markdown is taken if asked for, and the rest is warned of", async ({ page, service, complaints }) => {
  const html = `<script src="${service.url}/embed.js" data-selector="pre > code"></script>
    <div data-lang="python" id="empty"></div>
    <pre><code class="language-python" id="markdown">print("fenced")\n</code></pre>
    <div class="highlight"><pre tabindex="0"><code class="language-py" data-lang="py">print("Hugo")\n</code></pre></div>
    <pre><code class="language-ruby">puts 1</code></pre>
    <div data-lang="php"><b>else</b></div>
    <pre data-lang="python">print("own")<span data-expected hidden>42</span></pre>
    <p>The end.</p>`;
  await page.goto(service.hostPage(html));
  const frames = page.locator("iframe");
  await expect(frames).toHaveCount(4);
  const code = (index: number) => frames.nth(index).contentFrame().locator(".cm-content");
  await expect(code(0)).toContainText("most_common");
  await expect(code(1)).toHaveText('print("fenced")');
  await expect(code(2)).toHaveText('print("Hugo")');
  await expect(code(3)).toHaveText('print("own")');
  const warning = 'Sandpiper did not replace:\n<pre>: this server has no language ruby\n<div data-lang="php">: it contains something other than <pre data-file>';
  expect(complaints).toEqual([warning]);
  // One that is made already is given again.
  const isSame = await page.evaluate(() => {
    const { Sandpiper } = window as unknown as { Sandpiper: { embed(target: unknown): { element: Element } | null } };
    const made = Sandpiper.embed("#empty");
    return [made !== null, made === Sandpiper.embed(made?.element), Sandpiper.embed("#markdown") !== null, Sandpiper.embed("#none")];
  });
  expect(isSame).toEqual([true, true, true, null]);
  expect(complaints).toEqual([warning, "Sandpiper did not replace:\n#none: no element matches it"]);
});

test("without the service the code stays readable", async ({ page, service }) => {
  await page.route(/\/embed\?/, (route) => route.abort());
  const html = `<script src="${service.url}/embed.js"></script><pre data-lang="python">print("still here")</pre>`;
  await page.goto(service.hostPage(html));
  await expect(page.locator("iframe")).toHaveCount(1);
  await expect(page.getByText("still here")).toBeVisible();
});

test("edits survive a reload; Reset takes them back, Undo brings them again", async ({ page, service }) => {
  const frame = await embed(page, service, "lang=python");
  await frame.locator(".cm-content").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("# mine");
  await kept(frame, "# mine");
  await page.reload();
  const again = page.frameLocator("iframe").first();
  await expect(again.locator(".cm-content")).toContainText("# mine");
  await expect(again.locator(".notice")).toContainText("Your edits were restored.");
  expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true);
  await again.getByRole("button", { name: "Reset" }).click();
  await expect(again.locator(".cm-content")).not.toContainText("# mine");
  await again.getByRole("button", { name: "Undo" }).click();
  await expect(again.locator(".cm-content")).toContainText("# mine");
});

test("a tab that was opened earlier does not overwrite edits", async ({ page, service, context }) => {
  const frame = await embed(page, service, "lang=python");
  const stale = await context.newPage();
  await stale.goto(page.url());
  const other = await editorIn(stale);
  await replaceCode(frame.locator(".cm-content"), "one");
  await kept(frame, '"one"');
  await replaceCode(other.locator(".cm-content"), "two");
  await kept(other, '"two"');
  await page.reload();
  const again = await editorIn(page);
  await expect(again.locator(".cm-content")).toHaveText("two");
  await again.getByRole("button", { name: "Restore my edits" }).click();
  await expect(again.locator(".cm-content")).toHaveText("one");
  await again.waitForFunction(() =>
    Object.entries(localStorage).some(([key, text]) => !key.endsWith("/aside") && String(text).includes('"one"')),
  );
  await page.reload();
  const last = await editorIn(page);
  await expect(last.locator(".cm-content")).toHaveText("one");
  await last.getByRole("button", { name: "Restore my edits" }).click();
  await expect(last.locator(".cm-content")).toHaveText("two");
});

/** Sends a command to the editor, and waits for the answer. */
async function command(page: Page, type: string, payload: object): Promise<void> {
  await page.evaluate(
    (message) => {
      const answered = new Promise((resolve) => addEventListener("message", ({ data }) => data.id === message.id && resolve(data)));
      document.querySelector("iframe")?.contentWindow?.postMessage(message, "*");
      return answered;
    },
    { app: "sandpiper", v: 1, id: 1, type, payload },
  );
}

for (const [name, act] of [
  ["typing", (page) => page.keyboard.type("x")],
  ["Ctrl+S", (page) => page.keyboard.press("Control+S")],
  ["input of the embedding page", (page) => command(page, "setStdin", { stdin: "1" })],
] satisfies [string, (page: Page) => Promise<void>][]) {
  test(`edits that are offered are not lost by ${name}`, async ({ page, service }) => {
    await page.goto(service.hostPage(`<iframe src="${service.url}/embed?lang=python" width="1000" height="600"></iframe>`));
    const begin = async () => {
      const frame = await editorIn(page);
      await command(page, "setFiles", { files: [{ content: "start" }] });
      await frame.locator(".cm-content").click();
      return frame;
    };
    const first = await begin();
    await replaceCode(first.locator(".cm-content"), "edits");
    await kept(first, '"edits"');
    await page.reload();
    const second = await begin();
    await expect(second.locator(".notice")).toContainText("You have edited this program before.");
    await act(page);
    if (name === "typing") await kept(second, 'start');
    if (name === "Ctrl+S") await expect(second.locator(".notice")).toContainText("Saved in this browser");
    await page.reload();
    const third = await begin();
    const restore = third.getByRole("button", { name: "Restore my edits" });
    const code = third.locator(".cm-content");
    // The latest are offered first, and those that they replaced then.
    if (name === "typing") {
      await restore.click();
      await expect(code).toHaveText(/x/);
    }
    await restore.click();
    await expect(code).toHaveText("edits");
  });
}

test("edits of a program are found, whatever the reader typed into the one before", async ({ page, service }) => {
  await page.goto(service.hostPage(`<iframe src="${service.url}/embed?lang=python" width="1000" height="600"></iframe>`));
  const first = await editorIn(page);
  await command(page, "setFiles", { files: [{ content: "A" }] });
  await first.locator("#input-toggle").click();
  await first.locator("#stdin").fill("5");
  await command(page, "setFiles", { files: [{ content: "B" }] });
  await expect(first.locator("#stdin")).toHaveValue("5");
  await replaceCode(first.locator(".cm-content"), "edits");
  await kept(first, '"edits"');
  await page.reload();
  const second = await editorIn(page);
  await command(page, "setFiles", { files: [{ content: "B" }] });
  await second.getByRole("button", { name: "Restore my edits" }).click();
  await expect(second.locator(".cm-content")).toHaveText("edits");
});

test("code that is sent again replaces neither edits, nor input, nor the choice of the main file", async ({ page, service }) => {
  const frame = await embed(page, service, "lang=python");
  const populate = (...contents: string[]) =>
    page.evaluate(async (list) => {
      const target = document.querySelector("iframe")?.contentWindow;
      const files = list.map((content, index) => ({ name: `f${index}.py`, content }));
      target?.postMessage({ eventType: "populateCode", language: "python", files }, "*");
      target?.postMessage({ app: "sandpiper", v: 1, id: 1, type: "getFiles" }, "*");
      return new Promise((resolve) =>
        addEventListener("message", function answered({ data }) {
          if (data.id !== 1) return;
          removeEventListener("message", answered);
          resolve(data.payload);
        }),
      );
    }, contents);
  expect(await populate("one", "two")).toMatchObject({ entryFile: "f0.py", stdin: "" });
  await replaceCode(frame.locator(".cm-content"), "mine");
  await frame.locator("#input-toggle").click();
  await frame.locator("#stdin").fill("typed");
  await frame.getByRole("tab", { name: "f1.py" }).click();
  await frame.locator("#menu-button").click();
  await frame.getByRole("menuitem", { name: "Set as main file" }).click();
  const edited = { entryFile: "f1.py", stdin: "typed", files: [{ content: "mine" }, { content: "two" }] };
  expect(await populate("one", "two")).toMatchObject(edited);
  // Other code has the reader's input, as before.
  expect(await populate("new", "two")).toMatchObject({ stdin: "typed", files: [{ content: "new" }, { content: "two" }] });
});

test("the end of a run is reported with the program that ran, whatever came meanwhile", async ({ page, service }) => {
  await embed(page, service, "lang=python&listenToEvents=true");
  const release = await heldRuns(page);
  await page.evaluate(() => {
    const reports: unknown[] = [];
    Object.assign(window, { reports });
    const target = document.querySelector("iframe")?.contentWindow;
    const send = (id: number, type: string, payload?: unknown) => target?.postMessage({ app: "sandpiper", v: 1, id, type, payload }, "*");
    const setFiles = (id: number, print: string) => send(id, "setFiles", { files: [{ content: `print(${print})` }], expected: print });
    addEventListener("message", ({ data }) => {
      if (data.type === "run:end") reports.push(data.payload.matches);
      if (data.action === "runComplete") reports.push(data.files[0].content, data.result.output);
      if (data.type === "run:start") setFiles(3, "2");
      if (data.id === 3) document.body.dataset["replaced"] = "true";
    });
    setFiles(1, "1");
    send(2, "run");
  });
  await expect(page.locator("body")).toHaveAttribute("data-replaced", "true");
  release();
  await page.waitForFunction("window.reports.length === 3");
  expect(await page.evaluate("window.reports")).toEqual([true, "print(1)", "1\n"]);
});

test("the results of a program go when the page around or the address has another", async ({ page, service }) => {
  const frame = await embed(page, service, "lang=python&autosave=off");
  const other = { files: [{ content: "print(2)\nprint(3)" }] };
  const message = { app: "sandpiper", v: 1, type: "setFiles", payload: other };
  const go = (hash: string) => frame.evaluate((hash) => void (location.hash = hash), hash);
  for (const [act, words] of [
    [() => page.evaluate((one) => document.querySelector("iframe")?.contentWindow?.postMessage(one, "*"), message), "print(3)"],
    [() => go(`json=${encodeURIComponent(JSON.stringify(other))}`), "print(3)"],
    [() => go(""), "most_common"],
  ] as const) {
    await replaceCode(frame.locator(".cm-content"), "print(1)\nx");
    await frame.locator("#run").click();
    await expect(frame.locator(".stderr pre")).toContainText("NameError");
    await expect(frame.locator(".cm-lint-marker-error")).toHaveCount(1);
    await act();
    await expect(frame.locator(".cm-content")).toContainText(words);
    await expect(frame.locator("#streams .invitation")).toBeVisible();
    await expect(frame.locator("#streams pre, .cm-lint-marker-error")).toHaveCount(0);
    await expect(frame.locator("#status")).toHaveText("");
  }
});

test("the menu by keyboard, its dialog, and several files downloaded as an archive", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python`);
  await page.locator(".cm-content").waitFor();
  await page.locator("#menu-button").focus();
  await page.keyboard.press("ArrowDown");
  await expect(page.getByRole("menuitem", { name: "Copy link" })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(page.locator("#menu-button")).toBeFocused();
  await page.keyboard.press("Enter");
  await page.keyboard.press("e");
  await page.keyboard.press("Enter");
  const snippet = page.locator("#embed-dialog textarea");
  await expect(snippet).toHaveValue(/#code=/);
  await page.getByLabel("Dark").check();
  await expect(snippet).toHaveValue(/theme=dark/);
  const source = /src="([^"]*)"/.exec(await snippet.inputValue())?.[1]?.replaceAll("&amp;", "&") ?? "";
  await page.keyboard.press("Escape");
  await expect(page.locator("#menu-button")).toBeFocused();
  await page.keyboard.press("Enter");
  const download = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: "Download" }).press("Enter");
  expect((await download).suggestedFilename()).toBe("python.zip");
  await page.goto("about:blank");
  await page.goto(source);
  await expect(page.locator("#tabs")).toContainText("words.py");
});

test("links and snippets are copied without permission of the embedding page", async ({ page, service }) => {
  const frame = await embed(page, service, "lang=python&autosave=off");
  const code = frame.locator(".cm-content");
  const paste = async () => {
    await code.click();
    await page.keyboard.press("Control+A");
    await page.keyboard.press("Control+V");
  };
  const choose = async (name: string) => {
    await frame.locator("#menu-button").click();
    await frame.getByRole("menuitem", { name }).click();
  };
  await choose("Copy link");
  await expect(frame.locator(".notice")).toContainText("Link copied.");
  await paste();
  await expect(code).toHaveText(new RegExp(`^${service.url}/embed\\?lang=python#code=[\\w-]+$`));
  await choose("Embed");
  await frame.locator("#embed-dialog").getByRole("button", { name: "Copy" }).click();
  await expect(frame.locator(".copy-result")).toHaveText("Copied.");
  await page.keyboard.press("Escape");
  await paste();
  await expect(code).toContainText("<iframe src=");
});

test("the index page shows each language and its line", async ({ page, service, complaints }) => {
  await page.goto(`${service.url}/`);
  await page.getByRole("link", { name: "C++" }).click();
  await expect(page.frameLocator("iframe").locator("body")).toHaveAttribute("data-language", "cpp");
  await expect(page.locator("#snippet")).toContainText(`src="${service.url}/embed?lang=cpp"`);
  await page.setViewportSize({ width: 320, height: 640 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  for (const figure of await page.locator("figure").all()) {
    const text = await figure.locator("pre").boundingBox();
    const button = await figure.getByRole("button", { name: "Copy" }).boundingBox();
    expect(button?.y ?? 0, "Copy is below the text").toBeGreaterThanOrEqual((text?.y ?? 0) + (text?.height ?? Infinity));
  }
  expect(complaints).toEqual([]);
});
