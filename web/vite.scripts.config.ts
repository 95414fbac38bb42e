// Builds the scripts that stand alone: what a host page loads, and what runs
// in the preview frame.
import { defineConfig } from "vite";

export default defineConfig({
  build: {
    target: "es2022",
    emptyOutDir: false,
    rolldownOptions: {
      input: { embed: "src/embed-js/embed.ts", preview: "src/preview/shell.ts" },
      output: { format: "es", entryFileNames: "[name].js", inlineDynamicImports: false },
    },
  },
});
