// Builds the editor page: hashed chunks, one for each language, and a manifest
// by which the server finds them.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["tests/**/*.test.ts"] },
  // Behind any path prefix: chunks are found relative to each other.
  base: "./",
  build: {
    target: "es2022",
    manifest: "manifest.json",
    modulePreload: { polyfill: false },
    // Every URL stays a file: the page's policy allows no data: scripts or styles.
    assetsInlineLimit: 0,
    rolldownOptions: { input: "src/main.ts" },
  },
});
