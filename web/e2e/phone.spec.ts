// Small screens and fingers: the whole way on 320 pixels, alone and in a frame,
// magnified pages, and both layouts.

import type { Frame, Page } from "@playwright/test";

import { withFiles } from "./documents";
import { drawn, editorIn, ended, expect, test } from "./service";

const PHONE = { viewport: { width: 320, height: 568 }, hasTouch: true, isMobile: true };

/** Elements that do not fit, are too small for a finger (WCAG 2.2, 2.5.8), or are covered. */
async function faults(frame: Frame, within = "body"): Promise<string[]> {
  return frame.evaluate((selector) => {
    const found: string[] = [];
    const { scrollWidth } = document.scrollingElement ?? document.body;
    if (scrollWidth > innerWidth) found.push(`the page is ${scrollWidth} wide`);
    const root = document.querySelector(selector);
    if (root === null) return [`there is no ${selector}`];
    for (const target of root.querySelectorAll("button, summary, input, textarea, a, .cm-content")) {
      if (!target.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      // A label is pressed as well as what it names, and of the code what is not scrolled away.
      const shown = target.closest("label, .cm-scroller") ?? target;
      target.scrollIntoView({ block: "nearest", inline: "nearest" });
      const { left, right, top, bottom, width, height } = shown.getBoundingClientRect();
      const name = target.getAttribute("aria-label") ?? (target.textContent?.slice(0, 30) || target.id);
      if (width < 24 || height < 24) found.push(`${name} is ${width} x ${height}`);
      const x = (Math.max(left, 0) + Math.min(right, innerWidth)) / 2;
      const y = (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2;
      const hit = document.elementFromPoint(x, y);
      const isReached = hit !== null && (shown.contains(hit) || hit.contains(shown));
      if (!isReached) found.push(`${name} is covered by ${hit?.outerHTML.slice(0, 80)}`);
    }
    return found;
  }, within);
}

test("what does not fit, or cannot be reached, would be found", async ({ page }) => {
  await page.setViewportSize({ width: 320, height: 568 });
  await page.setContent(`<!doctype html><div style="width: 400px; height: 1px"></div><button style="height: 20px; padding: 0">low</button>
    <button style="display: block; width: 99px; height: 40px">under</button>
    <div id="cover" style="position: relative; top: -40px; width: 99px; height: 40px"></div>`);
  const found = await faults(page.mainFrame());
  for (const [at, fault] of ["the page is 4", "low is ", "under is covered by <div id=\"cover\""].entries()) {
    expect(found[at]).toContain(fault);
  }
  expect(found).toHaveLength(3);
});

/** Text of the code as it is in the editor. */
const codeOf = (frame: Frame) => frame.locator(".cm-line").allTextContents();
const hasCodeFocus = (frame: Frame) => frame.evaluate(() => document.activeElement?.matches(".cm-content") ?? false);
const menuItem = async (frame: Frame, name: string) => {
  await frame.locator("#menu-button").tap();
  expect(await faults(frame, "#menu")).toEqual([]);
  await frame.getByRole("menuitem", { name }).tap();
};

async function typeByTouch(page: Page, frame: Frame): Promise<void> {
  const symbols = frame.locator("#symbols");
  const symbol = async (name: string) => {
    await symbols.getByRole("button", { name, exact: true }).tap();
    expect(await hasCodeFocus(frame)).toBe(true);
  };
  await expect(symbols).toBeHidden();
  await frame.locator(".cm-content").tap();
  await expect(symbols).toBeVisible();
  expect(await faults(frame)).toEqual([]);
  for (const key of await symbols.getByRole("button").all()) {
    const box = await key.boundingBox();
    expect(box?.width).toBeGreaterThanOrEqual(44);
    expect(box?.height).toBeGreaterThanOrEqual(44);
  }
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.type("name = input");
  for (const name of ["(", ")"]) await symbol(name);
  await page.keyboard.press("Enter");
  await page.keyboard.type("if name");
  await symbol(":");
  await page.keyboard.press("Enter");
  await page.keyboard.type("print");
  await symbol("(");
  await symbol('"');
  await page.keyboard.type("Hi ");
  await symbol('"');
  await symbol("+");
  await page.keyboard.type("name");
  await symbol("Tab");
  expect(await codeOf(frame)).toEqual(["name = input()", "if name:", '        print("Hi "+name)']);
}

async function filesByTouch(page: Page, frame: Frame): Promise<void> {
  const tabs = frame.getByRole("tab");
  await frame.locator("#add-file").tap();
  // The tabs make space for the name.
  const field = await frame.locator(".tab-name").evaluate((input) => input.getBoundingClientRect());
  expect(field.left).toBeGreaterThanOrEqual(0);
  expect(field.right).toBeLessThanOrEqual(320);
  expect(field.height).toBeGreaterThanOrEqual(24);
  await page.keyboard.type("b.py");
  await page.keyboard.press("Enter");
  await expect(tabs.last()).toHaveText("b.py");
  await menuItem(frame, "Rename file");
  await page.keyboard.type("c.py");
  await page.keyboard.press("Enter");
  await expect(tabs.last()).toHaveText("c.py");
  await menuItem(frame, "Set as main file");
  await expect(tabs.last()).toHaveText("c.py ▸ main");
  await tabs.first().tap();
  await menuItem(frame, "Set as main file");
  await tabs.last().tap();
  await menuItem(frame, "Delete file");
  await expect(tabs.filter({ hasText: "c.py" })).toHaveCount(0);
  await expect(frame.locator(".notice")).toContainText("c.py was deleted.");
  expect(await faults(frame)).toEqual([]);
  await frame.getByRole("button", { name: "Undo" }).tap();
  await expect(tabs.last()).toHaveText("c.py");
  await tabs.first().tap();
}

async function journey(page: Page, frame: Frame): Promise<void> {
  expect(await faults(frame)).toEqual([]);
  await typeByTouch(page, frame);
  for (const field of [".cm-content", "#stdin"]) {
    const size = await frame.locator(field).evaluate((element) => parseFloat(getComputedStyle(element).fontSize));
    expect(size, field).toBeGreaterThanOrEqual(16);
  }
  await frame.locator("#run").tap();
  expect(await ended(frame)).toContain("exit code 1");
  await expect(frame.locator("#input-hint")).toContainText("asked for input");
  expect(await faults(frame)).toEqual([]);
  await frame.locator("#stdin").tap();
  await page.keyboard.type("Ada");
  await frame.locator("#run").tap();
  await expect(frame.locator(".stdout pre")).toHaveText("Hi Ada\n");
  expect(await faults(frame)).toEqual([]);
  await filesByTouch(page, frame);
  await menuItem(frame, "Embed…");
  await expect(frame.locator("#embed-dialog textarea")).toHaveValue(/#code=/);
  expect(await faults(frame, "#embed-dialog")).toEqual([]);
  await frame.locator("#embed-dialog").getByRole("button", { name: "Close" }).tap();
  await expect(frame.locator("#embed-dialog")).toBeHidden();
}

test.describe("a phone", () => {
  test.use(PHONE);

  // In a frame, less of it is in view.
  test("the whole way by touch, on 320 pixels", { tag: "@full" }, async ({ page, service, complaints }) => {
    await page.goto(`${service.url}/embed?lang=python`);
    await page.waitForSelector(".cm-content");
    await journey(page, page.mainFrame());
    // The program failed once, for want of input: that is not the page's complaint.
    expect(complaints).toEqual([]);
  });

  test("the whole way by touch, in a frame of 320 pixels", async ({ page, service, complaints }) => {
    const style = "<style>body{margin:0}iframe{display:block;width:100%;height:480px;border:0}</style>";
    const html = `<meta name="viewport" content="width=device-width">${style}<p>Try it:</p>
      <iframe src="${service.url}/embed?lang=python"></iframe><p>Go on reading.</p>`;
    await page.goto(service.hostPage(html));
    await journey(page, await editorIn(page));
    expect(await page.evaluate(() => document.scrollingElement?.scrollWidth)).toBe(320);
    expect(complaints).toEqual([]);
  });

  test("every kind of result fits, and nothing is covered", async ({ page, service }) => {
    for (const language of ["mysql", "web", "java"]) {
      await page.goto(`${service.url}/embed?lang=${language}&run=load`);
      expect(await ended(page.mainFrame())).toContain("Finished");
      expect(await faults(page.mainFrame()), language).toEqual([]);
    }
  });

  test("no notice covers the menu", async ({ page, service }) => {
    await page.goto(`${service.url}/embed?lang=python`);
    await page.locator("#menu-button[aria-controls]").tap();
    await page.getByRole("menuitem", { name: "Reset" }).tap();
    await expect(page.locator(".notice")).toContainText("Nothing to reset");
    await page.locator("#menu-button").tap();
    expect(await faults(page.mainFrame(), "#menu")).toEqual([]);
  });

  test("a dialogue by touch, in a line that is one row", async ({ page, service }) => {
    const code = "print('Hi', input('Name? '))\ntry: input('More? ')\nexcept EOFError: print('Bye')";
    await page.goto(`${service.url}/embed?${withFiles("lang=python&input=live&run=load", { "main.py": code })}`);
    const row = page.locator(".live-input");
    await expect(row.getByRole("button", { name: "End input" })).toBeVisible();
    const parts = await row.locator("label, input, button").evaluateAll((all) =>
      all.map((part) => part.getBoundingClientRect()).map(({ top, height, width }) => ({ middle: Math.round(top + height / 2), height, width })),
    );
    expect(new Set(parts.map(({ middle }) => middle)).size).toBe(1);
    for (const { height } of parts.slice(1)) expect(height).toBeGreaterThanOrEqual(44);
    expect(parts[1]?.width).toBeGreaterThan(100);
    expect(await faults(page.mainFrame())).toEqual([]);
    await expect(page.locator(".transcript pre")).toHaveText("Name? ");
    const field = row.getByRole("textbox", { name: "Input", exact: true });
    await field.tap();
    await page.keyboard.type("Ada");
    await row.getByRole("button", { name: "Send" }).tap();
    await expect(page.locator(".transcript pre")).toHaveText("Name? Ada\nHi Ada\nMore? ");
    // The keyboard stays open.
    await expect(field).toBeFocused();
    await row.getByRole("button", { name: "End input" }).tap();
    expect(await ended(page.mainFrame())).toMatch(/^Finished in/);
    await expect(page.locator(".transcript pre")).toHaveText(/Bye\n$/);
  });

  test("a locked editor has no symbols and opens no keyboard", async ({ page, service }) => {
    await page.goto(`${service.url}/embed?lang=python&readonly=1`);
    await page.locator(".cm-content").tap();
    await expect(page.locator(".cm-content")).toBeFocused();
    await expect(page.locator("#symbols")).toBeHidden();
    await expect(page.locator(".cm-content")).toHaveAttribute("inputmode", "none");
  });
});

test("a mouse is not offered the symbols", async ({ page, service }) => {
  await page.goto(`${service.url}/embed?lang=python`);
  await page.locator(".cm-content").click();
  await expect(page.locator("#symbols")).toBeHidden();
});

test("what was printed, at 400 %, in a narrow bar, and with text twice as large", async ({ page, service }) => {
  // 1280 x 1024 at 400 %.
  await page.setViewportSize({ width: 320, height: 256 });
  await page.goto(`${service.url}/embed?lang=python&run=load`);
  expect(await ended(page.mainFrame())).toContain("Finished");

  await test.step("at 400 % all is there and can be reached", async () => {
    expect(await faults(page.mainFrame())).toEqual([]);
    for (const part of [".cm-scroller", ".stdout pre"]) {
      await page.locator(part).scrollIntoViewIfNeeded();
      const box = await page.locator(part).boundingBox();
      expect(box?.height, part).toBeGreaterThan(60);
    }
  });

  await test.step("in a narrow bar one button opens the tools", async () => {
    await page.setViewportSize({ width: 320, height: 600 });
    const toggle = page.getByRole("button", { name: "Output tools" });
    const wrap = page.getByRole("button", { name: "Wrap" });
    await expect(toggle).toBeVisible();
    await expect(wrap).toBeHidden();
    await toggle.click();
    await wrap.click();
    await expect(wrap).toHaveAttribute("aria-pressed", "true");
    await page.keyboard.press("Escape");
    await expect(wrap).toBeHidden();
    await expect(toggle).toBeFocused();
    await expect(toggle).toHaveAttribute("aria-expanded", "false");
  });

  // The last: its sizes stay.
  await test.step("with text twice as large nothing is cut off", async () => {
    await page.setViewportSize({ width: 640, height: 700 });
    // The bar has noticed its width.
    await drawn(page);
    const cut = await page.evaluate(() => {
      const all = [...document.querySelectorAll<HTMLElement>("body *")];
      const sizes = all.map((element) => parseFloat(getComputedStyle(element).fontSize));
      all.forEach((element, index) => element.style.setProperty("font-size", `${(sizes[index] ?? 0) * 2}px`, "important"));
      const boxes = document.querySelectorAll<HTMLElement>("button, summary, #status, .keys");
      return [...boxes].filter((box) => {
        if (!box.checkVisibility()) return false;
        return box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
      }).map((box) => box.textContent);
    });
    expect(cut).toEqual([]);
    expect(await faults(page.mainFrame())).toEqual([]);
  });
});

for (const layout of ["auto", "rows", "cols"] as const) {
  // layout.spec.ts has parts above each other in frames that are wide.
  const tag = layout === "rows" ? "@full" : [];
  test(`the layout ${layout} on small, medium and large screens`, { tag }, async ({ page, service }) => {
    await page.goto(`${service.url}/embed?lang=python&layout=${layout}&run=load`);
    expect(await ended(page.mainFrame())).toContain("Finished");
    for (const width of [320, 768, 1280]) {
      await page.setViewportSize({ width, height: 600 });
      await drawn(page);
      const code = await page.locator("#left").boundingBox();
      const results = await page.locator("#results").boundingBox();
      if (code === null || results === null) throw new Error("a part is not shown");
      const isStacked = layout === "rows" || (layout === "auto" && width <= 640);
      expect(results.y >= code.y + code.height, `${width} pixels`).toBe(isStacked);
      expect(results.x >= code.x + code.width, `${width} pixels`).toBe(!isStacked);
      const edge = await page.locator("#results").evaluate((box) => getComputedStyle(box).borderWidth);
      expect(edge, `${width} pixels`).toBe(isStacked ? "1px 0px 0px" : "0px 0px 0px 1px");
      for (const box of [code, results]) {
        expect(box.width).toBeGreaterThan(isStacked ? width - 2 : 120);
        expect(box.height).toBeGreaterThan(150);
      }
      expect(await faults(page.mainFrame()), `${width} pixels`).toEqual([]);
    }
  });
}
