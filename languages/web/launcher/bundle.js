// esbuild, run over the submitted files: scripts and stylesheets with all that
// they import, in one piece each.
import * as esbuild from "esbuild";
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { Faults, characters, fault, place, tooDeep } from "./faults.js";
import { NOTHING, comment, origin } from "./map.js";
import { byAddress, byName, isAdded, isOfAdded, missing, missingPackage } from "./resolve.js";
import { asScript, dataUrl, isElsewhere } from "./text.js";

const LOADERS = {
  js: "js", mjs: "js", cjs: "js", jsx: "jsx", ts: "ts", mts: "ts", cts: "ts", tsx: "tsx",
  json: "json", css: "css", txt: "text", md: "text", csv: "text", html: "text",
};
const PREPROCESSED = { scss: "Sass", sass: "Sass", less: "Less", styl: "Stylus" };
const SCRIPTS = /^[jt]sx?$/;
const DEFINED = {
  "process.env.NODE_ENV": '"development"',
  "import.meta.env": '{"MODE":"development","DEV":true,"PROD":false,"SSR":false,"BASE_URL":"/"}',
};

/** Starts esbuild, which then waits for work. */
export async function start() {
  await esbuild.transform("");
}

/** One build of a submission. */
export class Bundle {
  /** Pieces of files that are built as if they were files, by name. */
  parts = new Map();
  /** Names of the framework's packages that were imported. */
  imported = new Set();
  #found = [];

  /** `framework` is null, or what the image has of React or Vue, and builds components. */
  constructor(files, framework, importMap = null) {
    this.files = files;
    this.framework = framework;
    this.importMap = importMap;
  }

  /** Adds a piece; gives the name to build it by. */
  add(name, part) {
    this.parts.set(name, part);
    return name;
  }

  /** Builds all; gives the text of each output by the name given to it. */
  async build(entries) {
    const result = await this.#run(entries, {});
    let outputs = result.outputFiles;
    const isOpen = ({ path, text }) => path.endsWith(".js") && text !== asScript(text);
    if (outputs.some(isOpen)) {
      // Only in plain literals can the words that HTML reads be escaped.
      outputs = (await this.#run(entries, { supported: { "template-literal": false } })).outputFiles;
    }
    const texts = new Map();
    for (const { path, text } of outputs) {
      if (path.endsWith(".map")) continue;
      const name = this.#named(path);
      const map = outputs.find((other) => other.path === `${path}.map`);
      texts.set(name, name.endsWith(".js") ? asScript(asModules(text)) + this.#map(map.text) : text);
    }
    return texts;
  }

  /** The names that a module exports. */
  async exportsOf(path) {
    const settings = { bundle: false, metafile: true, sourcemap: false };
    const result = await this.#run([{ in: path, out: "exports" }], settings);
    return Object.values(result.metafile.outputs)[0].exports;
  }

  async #run(entryPoints, more) {
    const built = this.#built(entryPoints, more).catch((error) => {
      if (!error.errors) throw error;
      this.#found.push(...error.errors.map((one) => this.#fault(one)));
    });
    const result = await built;
    if (this.#found.length > 0) throw new Faults(this.#found);
    return result;
  }

  #built(entryPoints, more) {
    return esbuild.build({
      entryPoints,
      outdir: this.files.root,
      absWorkingDir: this.files.root,
      bundle: true,
      write: false,
      // A file is named as it was found: the key of an import by pattern tells.
      preserveSymlinks: true,
      format: "esm",
      target: "esnext",
      charset: "utf8",
      legalComments: "none",
      logLevel: "silent",
      logLimit: 0,
      jsx: "automatic",
      jsxImportSource: this.framework?.name === "vue" ? "vue" : "react",
      sourcemap: "external",
      sourcesContent: false,
      treeShaking: false,
      tsconfigRaw: { compilerOptions: { experimentalDecorators: false } },
      define: this.framework ? DEFINED : {},
      plugins: [{ name: "files", setup: (build) => this.#plug(build) }],
      ...more,
    });
  }

  #plug(build) {
    build.onResolve({ filter: /.*/ }, (args) => this.#resolve(args));
    build.onLoad({ filter: /.*/, namespace: "package" }, ({ path }) => this.#package(path));
    build.onLoad({ filter: /.*/, namespace: "module" }, ({ path }) => ({
      contents: readFileSync(this.framework.modules[path], "utf8") + NOTHING,
    }));
    build.onLoad({ filter: /.*/ }, (args) => this.#load(args));
  }

  #resolve({ path: name, importer, kind, namespace }) {
    // Ours name each other: a package its module, and that other packages.
    if (namespace === "package") return { path: name, namespace: "module" };
    if (namespace === "module") return { path: name, namespace: "package" };
    if (isAdded(importer)) return this.#resolvePackage(name);
    const inside = (path) => ({ path: posix.join(this.files.root, path) });
    const importing = this.parts.get(this.#named(importer));
    const isOurs = importing?.file === null && this.files.has(name);
    if (kind === "entry-point" || this.parts.has(name) || isOurs) return inside(name);
    const from = importing?.file ?? this.#named(importer);
    const isStyle = ["import-rule", "url-token", "composes-from"].includes(kind);
    if (isStyle) {
      if (isElsewhere(name)) return { path: name, external: true };
      const found = byAddress(this.files, from, name);
      if (!found && isOfAdded(name)) return null;
      if (!found) return refused(missing(this.files, from, name));
      if (kind !== "url-token") return inside(found.path);
      const address = dataUrl(found.path, this.files.bytes(found.path));
      return { path: address + found.fragment, external: true };
    }
    return this.#resolveImport(name, from, inside);
  }

  #resolveImport(name, from, inside) {
    if (/^(https?:|data:|blob:|\/\/)/i.test(name)) return { path: name, external: true };
    const found = this.#resolvePackage(name);
    if (found) return found;
    const mapped = this.importMap?.(name) ?? null;
    if (mapped && isElsewhere(mapped.target)) return { path: name, external: true };
    const [base, target] = mapped ? [mapped.file, mapped.target] : [from, name];
    const isPath = mapped || /^(\.{0,2}\/|\.{1,2}$)/.test(name);
    if (!isPath && !(this.framework && name.startsWith("@/"))) {
      // esbuild itself finds it, in the folders above the submission.
      if (isOfAdded(name)) return null;
      return refused(missingPackage(this.files, from, name, this.framework?.packages ?? {}));
    }
    const isLoose = this.framework || /\.[mc]?tsx?$/.test(from);
    const file = (isLoose ? byName : byAddress)(this.files, base, target);
    return file ? inside(file.path + file.query) : refused(missing(this.files, from, target));
  }

  /** A package of the framework, or null. */
  #resolvePackage(name) {
    if (!Object.hasOwn(this.framework?.packages ?? {}, name)) return null;
    this.imported.add(name);
    return { path: name, namespace: "package" };
  }

  #package(name) {
    const names = this.framework.packages[name];
    const isApart = Object.hasOwn(this.framework.modules, name);
    const quoted = JSON.stringify(name);
    const registry = isApart
      ? `require(${quoted})`
      : `globalThis[Symbol.for("sandpiper")][${quoted}]`;
    const main = names.includes("default") ? "export default m;" : "";
    const list = names.filter((one) => one !== "default").join(", ");
    return { contents: `const m = ${registry};${main}export const { ${list} } = m;${NOTHING}` };
  }

  #load({ path: absolute, with: attributes }) {
    if (isAdded(absolute)) return loadAdded(absolute);
    const name = this.#named(absolute);
    const part = this.parts.get(name);
    if (part) {
      const isOurs = part.map || part.file === null;
      return { contents: isOurs ? part.contents : unmapped(part), loader: part.loader };
    }
    const isFile = this.files.has(name);
    const [, path, query] = isFile ? [null, name, ""] : /^(.*?)(?:\?([a-z&]+))?$/s.exec(name);
    // esbuild itself looks for what an import by pattern means, in all folders.
    if (!this.files.has(path)) return refused({ text: "this leads out of the submitted files" });
    const text = this.files.text(path);
    const ending = /\.([^./]+)$/.exec(path)?.[1].toLowerCase() ?? "";
    if (query === "raw" || query === "inline") return { contents: text, loader: "text" };
    if (query === "url") return { contents: dataUrl(path, this.files.bytes(path)), loader: "text" };
    if (ending === "vue" && this.framework?.name === "vue") {
      return { contents: this.#component(path), loader: "js" };
    }
    if (Object.hasOwn(PREPROCESSED, ending)) {
      return refused({ text: `${path} needs ${PREPROCESSED[ending]}, which is not there: write CSS` });
    }
    if (attributes?.type === "css") return { contents: sheet(text), loader: "js" };
    const isLocal = /\.module\.css$/i.test(path) && this.framework;
    const isJsx = this.framework?.name === "react" && LOADERS[ending] === "js";
    const loader = isLocal ? "local-css" : isJsx ? "jsx" : LOADERS[ending];
    if (!loader) return { contents: dataUrl(path, this.files.bytes(path)), loader: "text" };
    const contents = isModule(text) && SCRIPTS.test(loader) ? `${text}\nexport {};` : text;
    return { contents: unmapped({ contents, loader }), loader };
  }

  #component(path) {
    try {
      return this.framework.componentParts(this, path);
    } catch (error) {
      const isDeep = error instanceof RangeError;
      if (!isDeep && !(error instanceof Faults)) throw error;
      this.#found.push(...(isDeep ? [tooDeep(path)] : error.list));
      // Others that import it have nothing to report.
      return "export default {};";
    }
  }

  #map(json) {
    return comment(json, (source) => this.#fileOf(source), (file) => this.files.text(file));
  }

  /** The name of what is built by its absolute path. */
  #named(path) {
    return posix.relative(this.files.root, path);
  }

  #fileOf(source) {
    const files = [source, decodeURIComponent(source)].map((name) => this.parts.get(name)?.file ?? name);
    return files.find((file) => this.files.has(file)) ?? null;
  }

  #fault({ text, location, notes, detail }) {
    const isJsx = text.startsWith("The JSX syntax extension");
    const plain = text.replaceAll('"package:', '"').replace(/^Could not resolve (?=")/, "there is no ");
    const message = isJsx ? "JSX is no JavaScript of a browser" : plain;
    const note = detail?.note ?? hint(text, location) ?? notes.map(noted).find(Boolean);
    const name = location?.file ?? "";
    const at = location ? this.#place(name, location) : { file: "" };
    const size = location ? Buffer.from(location.lineText) : null;
    const from = location?.column ?? 0;
    const length = size ? characters(size.subarray(from, from + location.length).toString()) : 1;
    return fault(at, message, { length, note: note ?? null });
  }

  #place(name, { line, column, length, lineText }) {
    const bytes = Buffer.from(lineText);
    const before = bytes.subarray(0, column).toString();
    const part = this.parts.get(name);
    if (part?.file == null) {
      const file = [name, name.replace(/\?.*$/s, "")].find((one) => this.files.has(one)) ?? "";
      if (part) return { file };
      return { file: file || name.replace(/^(\.\.\/)+/, ""), line, column: characters(before) + 1 };
    }
    if (part.isInPlace) return { file: part.file, line, column: characters(before) + 1 };
    const text = this.files.text(part.file);
    const found = part.map && origin(part.map, line, before.length);
    if (found) {
      const source = text.split("\n")[found.line - 1] ?? "";
      const column = characters(source.slice(0, found.column)) + 1;
      return { file: part.file, line: found.line, column };
    }
    // Code that a compiler wrote: its names stand in the source as well.
    const word = bytes.subarray(column, column + length).toString().replace(/^["']|["']$/g, "");
    const offset = word ? text.indexOf(word) : -1;
    return offset < 0 ? { file: part.file } : place(part.file, text, offset);
  }
}

/** A file of a package that an operator added. */
const loadAdded = (path) => ({
  contents: readFileSync(path),
  loader: LOADERS[posix.extname(path).slice(1).toLowerCase()] ?? "dataurl",
});

/** A hint for messages that do not name the usual cause. */
function hint(text, location) {
  if (text.startsWith("The JSX syntax extension")) {
    return "it is built if the language is React: here, document.createElement makes elements";
  }
  const isMarkup = text === "Unterminated regular expression" && location?.lineText.includes("</");
  return isMarkup
    ? "elements side by side need a parent, as in <>…</>; and what is opened before must be closed"
    : null;
}

/** Namespaces say that they are modules, as the browser's do: Vue asks. */
const asModules = (code) =>
  code.replace(
    "\nvar __export = (target, all) => {",
    '$&__defProp(target, Symbol.toStringTag, { value: "Module" });',
  );

/** Whether this is a module, which esbuild could take for CommonJS because of its `this`. */
const isModule = (text) =>
  /^\s*import\b/m.test(text) && /\bthis\b/.test(text) && !/\bexport\b/.test(text);

/** The notes of esbuild, unless they speak of its own settings. */
function noted({ text, location }) {
  const words = text.replace(/ \(it was loaded with the "[\w-]+" loader\)/, "");
  if (/esbuild|\bloaders?\b|\bexternal\b|\bplatform\b/.test(words)) return null;
  return words.replace(/ is here:$/, ` is in line ${location?.line}`);
}

/**
 * Contents whose own source map esbuild does not read: the last comment that
 * names one counts, and esbuild passes over an address that is broken.
 */
function unmapped({ contents, loader }) {
  if (!contents.includes("sourceMappingURL=")) return contents;
  const words = "# sourceMappingURL=data:,%";
  if (SCRIPTS.test(loader)) return `${contents}\n//${words}`;
  return loader.endsWith("css") ? `${contents}\n/*${words} */` : contents;
}

const refused = ({ text, note = null }) => ({ errors: [{ text, detail: { note } }] });

const sheet = (css) =>
  `const sheet = new CSSStyleSheet();sheet.replaceSync(${JSON.stringify(css)});export default sheet;`;
