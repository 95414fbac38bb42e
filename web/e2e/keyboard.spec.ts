// Without a mouse and without sight: everything by keyboard, the announcements of
// screen readers, the focus, and the system's own colours and motion.

import { drawn, embed, editorIn, ended, expect, held, heldRuns, stopClock, test } from "./service";
import type { Frame, Page } from "@playwright/test";

/** The element with the focus in the frame, in short. */
const focused = (frame: Frame) =>
  frame.evaluate(() => {
    const at = document.activeElement;
    if (at === null || at === document.body) return "nothing";
    return at.id || at.getAttribute("data-path") || at.getAttribute("aria-label") || (at.textContent ?? "").slice(0, 20);
  });

/** Whether the element with the focus shows it: an outline, or the frame around the code. */
const isSeen = (frame: Frame) =>
  frame.evaluate(() => {
    const at = document.activeElement ?? document.body;
    const ring = at.matches(".cm-content")
      ? getComputedStyle(document.getElementById("code") ?? at, "::after").borderTopWidth
      : getComputedStyle(at).outlineStyle === "none" ? "0" : getComputedStyle(at).outlineWidth;
    return parseFloat(ring) >= 2;
  });

async function press(page: Page, frame: Frame, key: string, expected: string): Promise<void> {
  await page.keyboard.press(key);
  await expect.poll(() => focused(frame), { message: `after ${key}` }).toBe(expected);
  expect(await isSeen(frame), `${expected} shows the focus`).toBe(true);
}

/** The editor between two links of a host page, the focus on the first. */
async function host(page: Page, url: string): Promise<Frame> {
  return page.goto(url).then(async () => {
    const frame = await editorIn(page);
    await page.locator("#before").focus();
    return frame;
  });
}
const between = (source: string) =>
  `<a href="#b" id="before">before</a><iframe src="${source}" width="1000" height="600"></iframe><a href="#a" id="after">after</a>`;

const CODE = "Code, main.py";

test("from the host page into the frame, through all of it, and out again", async ({ page, service, complaints }) => {
  const frame = await host(page, service.hostPage(between(`${service.url}/embed?lang=python`)));
  for (const stop of ["main.py", "add-file", "menu-button", "run", CODE]) await press(page, frame, "Tab", stop);
  await page.keyboard.press("Control+A");
  await page.keyboard.type("import words\nprint(input())");
  await page.keyboard.press("Control+Enter");
  expect(await ended(frame)).toContain("exit code 1");
  expect(await focused(frame)).toBe(CODE);
  await page.keyboard.press("Escape");
  for (const stop of ["Times", "Wrap", "Copy", "Save", "Clear", "input-toggle", "stdin"]) await press(page, frame, "Tab", stop);
  await page.keyboard.type("by key");
  // It runs from everywhere.
  await page.keyboard.press("Control+Enter");
  await expect(frame.locator(".stdout pre")).toHaveText("by key\n");
  for (const stop of ["Text", "Size of the code"]) await press(page, frame, "Tab", stop);
  await page.keyboard.press("Tab");
  await expect(page.locator("#after")).toBeFocused();
  await page.keyboard.press("Shift+Tab");
  await expect.poll(() => focused(frame)).toBe("Size of the code");
  // Backwards out of the code too.
  await frame.locator(".cm-content").focus();
  await page.keyboard.press("Escape");
  await press(page, frame, "Shift+Tab", "run");
  for (const stop of ["menu-button", "add-file", "main.py"]) await press(page, frame, "Shift+Tab", stop);
  await page.keyboard.press("Shift+Tab");
  await expect(page.locator("#before")).toBeFocused();
  expect(complaints).toEqual([]);
});

for (const [what, typed] of [
  ["what might be offered is not known yet", "("],
  ["nothing is offered", "print(zzqx"],
] as const) {
  test(`Escape, then Tab, at once after typing: ${what}`, async ({ page, service }) => {
    const frame = await embed(page, service, "lang=python");
    await frame.locator(".cm-content").focus();
    await page.keyboard.type(typed);
    await page.keyboard.press("Escape");
    await press(page, frame, "Tab", "input-toggle");
  });
}

test("Escape, then Tab, while a list for earlier letters is shown", async ({ page, service }) => {
  await page.clock.install();
  const frame = await embed(page, service, "lang=python");
  await frame.locator(".cm-content").focus();
  await page.keyboard.type("prin");
  await expect(frame.getByRole("option", { name: "print", exact: true })).toBeVisible();
  // Completions for the rest are requested when the typing pauses: never.
  await stopClock(page);
  await page.keyboard.type("t(zzqx");
  await expect(frame.getByRole("listbox")).toHaveCount(1);
  await page.keyboard.press("Escape");
  await expect(frame.getByRole("listbox")).toHaveCount(0);
  await press(page, frame, "Tab", "input-toggle");
});

test("Escape closes a list first; then, however long after it, Tab leaves the code", async ({ page, service }) => {
  await page.clock.install();
  const frame = await embed(page, service, "lang=python");
  await frame.locator(".cm-content").focus();
  await page.keyboard.type("impor");
  await expect(frame.getByRole("option", { name: "import", exact: true })).toBeVisible();
  await press(page, frame, "Escape", CODE);
  await expect(frame.getByRole("listbox")).toHaveCount(0);
  await page.keyboard.press("Escape");
  await page.clock.fastForward(60_000);
  await press(page, frame, "Tab", "input-toggle");
  // Not after coming back, and not after another key or a click.
  await press(page, frame, "Shift+Tab", CODE);
  await press(page, frame, "Tab", CODE);
  await page.keyboard.press("Escape");
  await page.keyboard.press("ArrowUp");
  await press(page, frame, "Tab", CODE);
  await page.keyboard.press("Escape");
  await frame.locator(".cm-line").first().click();
  await press(page, frame, "Tab", CODE);
});

test("files by keyboard, the focus never lost", async ({ page, service }) => {
  const frame = await embed(page, service, "lang=python");
  await frame.getByRole("tab", { name: "main.py" }).focus();
  for (const [key, path] of [
    ["ArrowRight", "words.py"], ["ArrowRight", "main.py"], ["ArrowLeft", "words.py"],
    ["Home", "main.py"], ["End", "words.py"],
  ] as const) {
    await press(page, frame, key, path);
    await expect(frame.getByRole("tab", { selected: true })).toContainText(path);
    await expect(frame.locator(".cm-content")).toHaveAttribute("aria-label", `Code, ${path}`);
  }
  await press(page, frame, "F2", "File name");
  await page.keyboard.type("main.py");
  await press(page, frame, "Enter", "File name");
  await expect(frame.locator("#tab-fault")).toHaveText("The file main.py exists already.");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("other.py");
  await press(page, frame, "Enter", "other.py");
  await expect(frame.locator("#tab-fault")).toHaveText("");
  await press(page, frame, "F2", "File name");
  await press(page, frame, "Escape", "other.py");
  // The entry stays; another goes and comes again.
  await press(page, frame, "Home", "main.py");
  await press(page, frame, "Delete", "main.py");
  await expect(frame.locator(".notice [role=status]")).toHaveText(/^main\.py is the main file\./);
  await expect(frame.getByRole("tab")).toHaveCount(2);
  await press(page, frame, "End", "other.py");
  await press(page, frame, "Shift+Delete", "other.py");
  await press(page, frame, "Delete", "main.py");
  await expect(frame.locator(".notice [role=status]")).toHaveText("other.py was deleted.");
  await frame.getByRole("button", { name: "Undo" }).focus();
  await press(page, frame, "Enter", "menu-button");
  await expect(frame.getByRole("tab", { selected: true })).toHaveText("other.py");
  await expect(frame.locator(".cm-content")).toContainText("most_common");
  await press(page, frame, "Shift+Tab", "add-file");
  await press(page, frame, "Enter", "File name");
  await page.keyboard.type("new.py");
  await press(page, frame, "Enter", "new.py");
  await expect(frame.getByRole("tab")).toHaveCount(3);
});

test("F6 and Shift+F6 go from part to part", async ({ page, service }) => {
  const frame = await embed(page, service, "lang=web");
  await frame.locator("#run").focus();
  await page.keyboard.press("Enter");
  expect(await ended(frame)).toContain("Finished");
  for (const part of ["Code, index.html", "results", "Preview", "index.html", "Code, index.html"]) {
    await press(page, frame, "F6", part);
  }
  for (const part of ["index.html", "Preview", "results", "Code, index.html"]) await press(page, frame, "Shift+F6", part);
  // Hidden parts are skipped.
  const bare = await embed(page, service, "lang=python&hide=toolbar");
  await bare.locator(".cm-content").focus();
  for (const part of ["results", "run", CODE]) await press(page, bare, "F6", part);
});

test("searching, a run that is stopped, an error that is gone to", async ({ page, service }) => {
  const frame = await embed(page, service, "lang=python");
  const code = frame.locator(".cm-content");
  await code.focus();
  await page.keyboard.press("Control+F");
  await expect(frame.locator(".cm-search [name=search]")).toBeFocused();
  await press(page, frame, "Escape", CODE);
  await page.keyboard.press("Control+A");
  await page.keyboard.type("import time\nprint(1)\ntime.sleep(60)");
  await page.keyboard.press("Control+Enter");
  await expect(frame.locator("#run-label")).toHaveText("Stop");
  await press(page, frame, "Shift+F6", "main.py");
  for (const stop of ["add-file", "menu-button", "run"]) await press(page, frame, "Tab", stop);
  await press(page, frame, "Enter", "run");
  await expect(frame.locator("#status")).toHaveText("Stopped.");
  await expect(frame.locator("#run-label")).toHaveText("Run");
  await code.focus();
  await page.keyboard.press("Control+A");
  await page.keyboard.type("print(1)\nprint(missing)");
  await page.keyboard.press("Control+Enter");
  expect(await ended(frame)).toContain("exit code 1");
  const link = frame.locator(".stderr .place").last();
  await link.focus();
  await press(page, frame, "Enter", CODE);
  await expect(frame.locator(".cm-activeLine")).toHaveText("print(missing)");
  // A run that removes the element with the focus keeps the focus in its part.
  await link.focus();
  await press(page, frame, "Control+Enter", "results");
  expect(await ended(frame)).toContain("exit code 1");
  await frame.getByRole("button", { name: "Clear" }).focus();
  await press(page, frame, "Enter", "run");
});

for (const when of ["before", "after"]) {
  test(`a screen reader announces a run: each status once, no seconds; Run ${when} the page is whole`, async ({ page, service }) => {
    await page.clock.install();
    const rest = await held(page, (path) => path.startsWith("assets/page-"));
    const frame = await embed(page, service, "lang=python");
    const release = await heldRuns(page);
    await frame.evaluate(() => {
      const announced: string[] = [];
      Object.assign(window, { announced });
      const observer = new MutationObserver((records) => {
        const regions = new Set(records.map(({ target }) => (target instanceof Element ? target : target.parentElement)?.closest("[role=status], [role=alert]")));
        for (const region of regions) {
          const text = region?.textContent ?? "";
          if (text !== "" && region?.getAttribute("aria-live") !== "off") announced.push(text);
        }
      });
      observer.observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    if (when === "before") await frame.locator("#run").click();
    rest.release();
    await expect(frame.locator(".output-bar")).toBeAttached();
    if (when === "after") await frame.locator("#run").click();
    await expect(frame.locator("#run-label")).toHaveText("Stop");
    await page.clock.runFor(5000);
    await expect(frame.locator("#status")).toHaveText(/^Queued or running… \d+ s$/);
    release();
    expect(await ended(frame)).toContain("Finished");
    const announced = await frame.evaluate(() => (window as unknown as { announced: string[] }).announced);
    expect(announced).toEqual(["Running…", expect.stringMatching(/^Finished in \d/)]);
    expect(await frame.locator("#status").getAttribute("role")).toBe("status");
  });
}

test.describe("the host page keeps its focus and its place", () => {
  const far = (url: string, query: string) =>
    `<input id="own"><p style="height:3000px">…</p><iframe src="${url}/embed?${query}" width="900" height="500"></iframe><p style="height:3000px">…</p>`;
  // A frame out of view is drawn rarely: nothing here waits for that.
  const settled = async (page: Page) => {
    // Whatever comes late has had its frames.
    await drawn(page);
    return page.evaluate(() => ({ top: scrollY, at: document.activeElement?.id || document.activeElement?.localName }));
  };
  const command = (page: Page, type: string, payload: object) =>
    page.evaluate(
      ([type, payload]) =>
        new Promise((resolve) => {
          addEventListener("message", ({ data }) => data.id === type && resolve(data.ok));
          document.querySelector("iframe")?.contentWindow?.postMessage({ app: "sandpiper", v: 1, id: type, type, payload }, "*");
        }),
      [type, payload] as const,
    );
  const commands: [string, object][] = [
    ["setFiles", { files: [{ path: "a.py", content: "print(missing)\n".repeat(200) }, { path: "b.py", content: "" }], entryFile: "a.py" }],
    ["markLines", { lines: [150] }],
    ["setDiagnostics", { diagnostics: [{ line: 180, message: "here" }] }],
    ["setReadOnly", { readonly: true }],
    ["setReadOnly", { readonly: false }],
    ["setStdin", { stdin: "1\n2" }],
    ["setTheme", { theme: "dark" }],
    ["run", {}],
    ["reset", {}],
  ];

  test("far below, as a preview comes", async ({ page, service }) => {
    await page.goto(service.hostPage(far(service.url, "lang=web&run=load")));
    const frame = await editorIn(page);
    await expect(frame.locator("#status")).toContainText("Finished");
    await expect(frame.locator(".preview")).toBeAttached();
    expect(await settled(page)).toEqual({ top: 0, at: "body" });
  });

  test("at every command but focus", async ({ page, service }) => {
    await page.goto(service.hostPage(far(service.url, "lang=python")));
    const frame = await editorIn(page);
    for (const [type, payload] of commands) {
      expect(await command(page, type, payload), type).toBe(true);
      if (type === "run") await expect(frame.locator("#status")).toContainText("exit code 1");
      expect(await settled(page), type).toEqual({ top: 0, at: "body" });
    }
    expect(await command(page, "focus", {})).toBe(true);
    expect((await settled(page)).at).toBe("iframe");
  });

  // The element that had the focus in the frame has lost it.
  for (const before of ["[role=tab]", ".cm-content"]) {
    test(`as output comes, and at every command after ${before} had it`, async ({ page, service }) => {
      await page.goto(service.hostPage(far(service.url, "lang=python&run=load")));
      const frame = await editorIn(page);
      await expect(frame.locator("#status")).toContainText("Finished");
      await expect(frame.locator(".stdout")).toBeAttached();
      expect(await settled(page)).toEqual({ top: 0, at: "body" });
      await frame.locator(before).first().focus();
      await page.evaluate(() => (document.getElementById("own")?.focus(), scrollTo(0, 0)));
      for (const [type, payload] of commands) {
        expect(await command(page, type, payload), type).toBe(true);
        if (type === "run") await expect(frame.locator("#status")).toContainText("exit code 1");
        expect(await settled(page), type).toEqual({ top: 0, at: "own" });
      }
    });
  }
});

test("locked means the files too, but not the input", async ({ page, service }) => {
  const frame = await embed(page, service, "lang=python");
  const lock = (readonly: boolean) =>
    page.evaluate((readonly) => {
      const message = { app: "sandpiper", v: 1, type: "setReadOnly", payload: { readonly } };
      document.querySelector("iframe")?.contentWindow?.postMessage(message, "*");
    }, readonly);
  const check = async (isLocked: boolean) => {
    await expect(frame.locator("#add-file")).toBeVisible({ visible: !isLocked });
    await frame.getByRole("tab", { name: "words.py" }).click();
    await page.keyboard.press("F2");
    await expect(frame.locator(".tab-name")).toHaveCount(isLocked ? 0 : 1);
    if (!isLocked) await page.keyboard.press("Escape");
    await page.keyboard.press("Delete");
    await expect(frame.getByRole("tab")).toHaveCount(isLocked ? 2 : 1);
    if (!isLocked) await frame.getByRole("button", { name: "Undo" }).click();
    await frame.locator("#menu-button").click();
    await expect(frame.getByRole("menuitem")).toHaveCount(isLocked ? 7 : 11);
    await page.keyboard.press("Escape");
    await frame.locator(".cm-content").click();
    const before = await frame.locator(".cm-content").textContent();
    await page.keyboard.type("x");
    expect((await frame.locator(".cm-content").textContent()) === before).toBe(isLocked);
    await expect(frame.locator("#stdin")).toBeEditable();
  };
  await frame.locator("#input-toggle").click();
  await check(false);
  await lock(true);
  await expect(frame.locator(".cm-content")).toHaveAttribute("aria-readonly", "true");
  await check(true);
  await lock(false);
  await expect(frame.locator("#add-file")).toBeVisible();
  // A name that is being given is given up.
  await frame.locator("#add-file").click();
  await page.keyboard.type("half.py");
  await lock(true);
  await expect(frame.locator(".tab-name")).toHaveCount(0);
  await expect(frame.getByRole("tab")).toHaveCount(2);
  const always = await embed(page, service, "lang=python&readonly=1");
  await expect(always.getByRole("tab")).toHaveCount(2);
  await expect(always.locator("#add-file")).toBeHidden();
});

test("no request of the pages fails, and their icon is an image", async ({ page, service }) => {
  const failed: string[] = [];
  page.on("response", (response) => {
    if (response.status() >= 400) failed.push(response.url());
  });
  for (const [path, last] of [["/", "iframe"], ["/embed", "body"], ["/embed?lang=web", "#menu-button[aria-controls]"]] as const) {
    await page.goto(service.url + path);
    const width = await page.evaluate(async () => {
      const image = new Image();
      image.src = document.querySelector<HTMLLinkElement>("link[rel=icon]")?.href ?? "";
      await image.decode();
      return image.naturalWidth;
    });
    expect(width).toBeGreaterThan(0);
    await page.locator(last).waitFor();
  }
  expect(failed).toEqual([]);
});
