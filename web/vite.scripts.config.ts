// Builds the scripts that stand alone, one at a time, as its mode says: the one that a
// host page loads, or the one in the preview frame. Neither leaves a name
// behind in the page that it runs in.
import { defineConfig } from "vite";

const SCRIPTS: Readonly<Record<string, string>> = {
  embed: "src/embed-js/embed.ts",
  preview: "src/preview/shell.ts",
};

export default defineConfig(({ mode }) => ({
  build: {
    target: "es2022",
    emptyOutDir: false,
    rolldownOptions: {
      input: { [mode]: SCRIPTS[mode] ?? "" },
      output: { format: "iife", entryFileNames: "[name].js" },
    },
  },
}));
