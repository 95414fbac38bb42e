// Run while the image is built: makes of React and Vue one script each, with all
// of their packages, and the list of what each package exports.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import * as esbuild from "esbuild";
import { asScript } from "./text.js";

const PACKAGES = {
  react: {
    react: "react",
    "react-dom": "react-dom",
    "react-dom/client": "react-dom/client",
    "react/jsx-runtime": "react/jsx-runtime",
    "react/jsx-dev-runtime": "react/jsx-dev-runtime",
  },
  vue: { vue: "vue/dist/vue.esm-bundler.js", "vue/jsx-runtime": "vue/jsx-runtime" },
};
const SETTINGS = {
  bundle: true,
  write: false,
  charset: "utf8",
  legalComments: "inline",
  minifyWhitespace: true,
  define: {
    "process.env.NODE_ENV": '"development"',
    __VUE_OPTIONS_API__: "true",
    __VUE_PROD_DEVTOOLS__: "false",
    __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false",
  },
};

const require = createRequire(`${process.cwd()}/`);

/** The names that a package exports. */
async function names(path) {
  const stdin = { contents: `export * from "${path}";`, resolveDir: "." };
  const built = await esbuild.build({ ...SETTINGS, stdin, format: "esm", metafile: true });
  const found = Object.values(built.metafile.outputs)[0].exports;
  return found.length > 0 ? found : [...Object.keys(require(path)), "default"];
}

/**
 * Vue is one, with its compiler of templates, whoever imports it. React's advice
 * to install its tools is no message of the program.
 */
const patches = {
  name: "patches",
  setup(build) {
    build.onResolve({ filter: /^vue$/ }, ({ kind }) =>
      build.resolve("vue/dist/vue.esm-bundler.js", { kind, resolveDir: process.cwd() }),
    );
    build.onLoad({ filter: /react-dom-client\.development\.js$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const parts = text.split("window.top === window.self");
      if (parts.length !== 2 || !parts[1].includes("Download the React DevTools")) {
        throw new Error("react-dom does not advise as it did");
      }
      return { contents: parts.join("false") };
    });
  },
};

for (const [name, packages] of Object.entries(PACKAGES)) {
  const exported = {};
  for (const [one, path] of Object.entries(packages)) exported[one] = await names(path);
  const entries = Object.entries(packages).map(([one, path]) => `"${one}": require("${path}")`);
  // Symbols cannot clash with the names of a program, nor be listed among them.
  const contents =
    `Object.defineProperty(globalThis, Symbol.for("sandpiper"), { value: { ${entries} } });`;
  const stdin = { contents, resolveDir: "." };
  const built = await esbuild.build({ ...SETTINGS, stdin, format: "iife", plugins: [patches] });
  const code = asScript(built.outputFiles[0].text);
  writeFileSync(`${name}.json`, JSON.stringify({ name, packages: exported }));
  // Stacks show which frames are not the program's.
  writeFileSync(`${name}.js`, `${code.trimEnd()}\n//# sourceURL=${name}.development.js\n`);
}
