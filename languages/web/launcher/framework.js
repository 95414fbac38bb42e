// Run while the image is built: makes of React and Vue one script each, with
// most of their packages, and the list of what each package exports. The rest
// are modules that a program has in it if it imports them.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
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
/** Large, and of use to few. */
const MODULES = {
  react: { "react-dom/server": "react-dom/server.browser" },
  vue: { "vue/server-renderer": "@vue/server-renderer/dist/server-renderer.esm-bundler.js" },
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

/** A package in one piece, but for those that stand in the script: CommonJS. */
async function moduleOf(path, external) {
  // By its file: a name is a part of a package that stands in the script.
  const entryPoints = [require.resolve(path)];
  const built = await esbuild.build({ ...SETTINGS, entryPoints, format: "cjs", external });
  return built.outputFiles[0].text;
}

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
  const modules = {};
  for (const [one, path] of Object.entries(MODULES[name])) {
    exported[one] = await names(path);
    modules[one] = `/opt/sandpiper/${one.replaceAll("/", "-")}.js`;
    writeFileSync(basename(modules[one]), await moduleOf(path, Object.keys(packages)));
  }
  writeFileSync(`${name}.json`, JSON.stringify({ name, packages: exported, modules }));
  // Stacks show which frames are not the program's.
  writeFileSync(`${name}.js`, `${code.trimEnd()}\n//# sourceURL=${name}.development.js\n`);
}
// A package that waits for messages would keep this process.
process.exit();
