// The editor page in Debian's Chromium, framed by a page of another origin.
import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "e2e",
  timeout: 120_000,
  expect: { timeout: 60_000 },
  workers: 2,
  reporter: "list",
  use: {
    launchOptions: {
      executablePath: "/usr/bin/chromium",
      args: [
        ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        // Replaces Playwright's own list, which takes storage away from frames of other sites.
        "--disable-features=Translate",
      ],
    },
  },
});
