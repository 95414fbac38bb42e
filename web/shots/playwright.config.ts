// Pictures of the editor page: `make screenshots`.
import { defineConfig } from "@playwright/test";

import base from "../playwright.config";

export default defineConfig({ ...base, testDir: ".", workers: 1, reporter: "line", globalTeardown: "./sheet.ts" });
