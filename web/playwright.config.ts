// The editor page in Debian's Chromium, framed by a page of another origin.
import { fileURLToPath } from "node:url";

import { defineConfig } from "@playwright/test";

import { usual } from "./e2e/chromium";

/** Combinations that only multiply what other tests show: `FULL=1` runs them, too. */
const MULTIPLIED = /@full/;

export default defineConfig({
  testDir: "e2e",
  globalSetup: fileURLToPath(new URL("e2e/setup.ts", import.meta.url)),
  ...(process.env["FULL"] === "1" ? {} : { grepInvert: MULTIPLIED }),
  // Only a test that fails waits this long, even on a busy machine.
  timeout: 300_000,
  expect: { timeout: 120_000 },
  // One more than cores of the smallest machine: a page that waits leaves a core idle.
  workers: 3,
  fullyParallel: true,
  reporter: "list",
  use: { launchOptions: usual },
});
