// Builds the editor page: hashed chunks, one for each language, and a manifest
// by which the server finds them.
import { join } from "node:path";

import { defineConfig } from "vitest/config";

/** Grammars come without completion, which they only need when it is asked for. */
const laterCompletion = {
  name: "later-completion",
  enforce: "pre" as const,
  resolveId(source: string, importer: string | undefined) {
    const isGrammar = importer?.includes("/@codemirror/lang-") === true;
    return isGrammar && source === "@codemirror/autocomplete" ? STUB : null;
  },
};
const CORE =
  /node_modules\/(@codemirror\/(state|view|language|commands)|@lezer\/(common|highlight)|@marijn|style-mod|crelt|w3c-keyname)\/|src\/(dom|event|filled|later|messages|editor\/(completion-stub|languages)|parent\/fragment|store\/(reader|snapshot)|workspace)\.ts/;
const STUB = join(import.meta.dirname, "src/editor/completion-stub.ts");

export default defineConfig({
  plugins: [laterCompletion],
  test: {
    include: ["tests/**/*.test.ts"],
    setupFiles: ["tests/english.ts"],
    // Long enough for a machine that does other work.
    testTimeout: 60_000,
    // Tests leave nothing behind: files of them share the modules that one has loaded.
    isolate: false,
    // All cores; by default one stays free.
    pool: "threads", maxWorkers: "100%",
  },
  // Behind any path prefix: chunks are found relative to each other.
  base: "./",
  build: {
    target: "es2022",
    manifest: "manifest.json",
    modulePreload: { polyfill: false },
    // Every URL stays a file: the page's policy allows no data: scripts or styles.
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: ["src/main.ts", "src/styles/direction.css"],
      // The modules that every page needs, in one chunk: that is smaller than several.
      output: { codeSplitting: { groups: [{ name: "core", test: CORE }] } },
    },
  },
});
