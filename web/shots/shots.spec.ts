// Takes the pictures: every scene, in its sizes and both themes.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { expect, test } from "../e2e/service";
import { folder, nameOf, themes } from "./files";
import { scenes, type Scene, type Size } from "./scenes";

/** Those of the README, which are in the repository. */
const README_FOLDER = "../docs";
const README_SIZE = { width: 1040, height: 520 };
const README_BYTES = 150_000;
const LIKE_PAPER = { caret: "hide", animations: "disabled" } as const;

for (const theme of themes) {
  test.describe(theme, () => {
    test.use({ colorScheme: theme, reducedMotion: "reduce" });
    for (const scene of scenes) {
      for (const size of scene.sizes) {
        const name = nameOf(scene.name, size, theme);
        test(name, async ({ page, service, serve }) => {
          const { url } = scene.flags === undefined ? service : await serve(...scene.flags);
          await stage(page, { scene, size, url, hostPage: service.hostPage });
          await page.screenshot({ path: join(folder(), name), ...LIKE_PAPER });
        });
      }
    }
    for (const scene of scenes.filter(({ inReadme }) => inReadme === true)) {
      const path = join(README_FOLDER, `${scene.name}-${theme}.png`);
      test(`for the README: ${path}`, async ({ page, service }) => {
        await stage(page, { scene, size: README_SIZE, url: service.url, hostPage: service.hostPage });
        const picture = await page.screenshot(LIKE_PAPER);
        expect(picture.length).toBeLessThan(README_BYTES);
        writeFileSync(path, picture);
      });
    }
  });
}

interface Setting {
  scene: Scene;
  size: Size;
  url: string;
  hostPage: (html: string) => string;
}

async function stage(page: Page, { scene, size, url, hostPage }: Setting): Promise<void> {
  await page.setViewportSize(size);
  await page.goto(typeof scene.page === "string" ? `${url}/${scene.page}` : hostPage(scene.page(url)));
  if (scene.isEditor !== false) await page.locator(".cm-line span[class]").first().waitFor();
  await scene.act?.(page);
  if (scene.isWhole === true) {
    // Frames out of view are not drawn.
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    await page.setViewportSize({ ...size, height });
  }
  await page.evaluate(() => document.fonts.ready);
  // Nothing is under the pointer.
  await page.mouse.move(1, size.height - 1);
}
