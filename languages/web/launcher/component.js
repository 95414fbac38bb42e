// Vue's single-file components: each becomes a module of modules, one for the
// script, one for the template and one for each style.
import { createHash } from "node:crypto";
import { posix } from "node:path";
import {
  compileScript, compileStyle, compileTemplate, invalidateTypeCache, parse, parseCache,
} from "@vue/compiler-sfc";
import { Faults, fault, place } from "./faults.js";
import { relative } from "./files.js";
import { NOTHING } from "./map.js";
import { byName, missing } from "./resolve.js";

const ASSETS = {
  video: ["src", "poster"], source: ["src"], img: ["src"],
  image: ["xlink:href", "href"], use: ["xlink:href", "href"], audio: ["src"], input: ["src"],
};

/** Adds the parts of the component to the bundle; gives its own code. */
export function componentParts(bundle, path) {
  return new Component(bundle, path).code();
}

/** Drops what Vue's compiler keeps of the files: others may have their names. */
export function forget(files) {
  parseCache.clear();
  for (const path of files.paths) invalidateTypeCache(path);
}

class Component {
  constructor(bundle, path) {
    this.bundle = bundle;
    this.files = bundle.files;
    this.path = path;
    this.text = this.files.text(path);
    const { descriptor, errors } = parse(this.text, {
      filename: path,
      templateParseOptions: { comments: false },
    });
    if (errors.length > 0) throw new Faults(errors.map((error) => this.#fault(error)));
    this.descriptor = descriptor;
    this.id = createHash("sha256").update(path).digest("hex").slice(0, 8);
    this.isScoped = descriptor.styles.some((style) => style.scoped);
    this.faults = [];
    this.#check();
  }

  code() {
    const { script, scriptSetup, template } = this.descriptor;
    const lines = [];
    const from = script?.src && this.#found(script.src);
    if (from) lines.push(`import main from ${JSON.stringify(relative(this.path, from))};`);
    else if (scriptSetup || (script && !script.src)) lines.push(`import main from ${this.#script()};`);
    else lines.push("const main = {};");
    lines.push("const component = main;");
    const rendered = template && !this.isInline ? this.#template() : null;
    if (rendered) lines.push(`import { render } from ${rendered};`, "component.render = render;");
    this.descriptor.styles.forEach((style, index) => lines.push(...this.#style(style, index)));
    if (this.isScoped) lines.push(`component.__scopeId = "data-v-${this.id}";`);
    lines.push(`component.__file = ${JSON.stringify(this.path)};`, "export default component;");
    if (this.faults.length > 0) throw new Faults(this.faults);
    return lines.join("\n") + NOTHING;
  }

  get isInline() {
    const { scriptSetup, template } = this.descriptor;
    return scriptSetup != null && !template?.src;
  }

  /** Errors are reported before anything is built. */
  #check() {
    const { template, script, scriptSetup, styles } = this.descriptor;
    const faults = [];
    const refuse = (block, known, what) => {
      if (!block?.lang || known.includes(block.lang)) return;
      const start = this.text.lastIndexOf("<", block.loc.start.offset - 1);
      const offset = this.text.indexOf(`"${block.lang}"`, start) + 1;
      const message = `${what} in the language "${block.lang}" cannot be built`;
      const note = `these can: ${known.join(", ")}`;
      const at = place(this.path, this.text, offset);
      faults.push(fault(at, message, { length: block.lang.length, note }));
    };
    refuse(template, ["html"], "a template");
    refuse(script, ["js", "ts", "jsx", "tsx"], "a script");
    refuse(scriptSetup, ["js", "ts", "jsx", "tsx"], "a script");
    for (const style of styles) refuse(style, ["css", "postcss"], "a style");
    if (faults.length > 0) throw new Faults(faults);
  }

  #script() {
    const { scriptSetup, script } = this.descriptor;
    const settings = {
      id: this.id,
      inlineTemplate: this.isInline,
      isProd: false,
      sourceMap: true,
      fs: {
        fileExists: (path) => this.files.has(posix.normalize(path)),
        readFile: (path) => this.files.text(posix.normalize(path)),
      },
      templateOptions: this.#templateSettings(),
    };
    const result = this.#compiled(settings);
    this.bindings = result.bindings;
    const lang = scriptSetup?.lang ?? script?.lang ?? "js";
    return this.#part("script", lang, result.content, result.map);
  }

  #template() {
    const { template } = this.descriptor;
    const file = template.src ? this.#found(template.src) : this.path;
    if (!file) return null;
    const source = template.src ? this.files.text(file) : template.content;
    const result = compileTemplate({
      ...this.#templateSettings(),
      source,
      ast: template.src ? undefined : template.ast,
      filename: file,
      inMap: template.src ? undefined : template.map,
    });
    const errors = result.errors.filter((error) => error instanceof Error);
    if (errors.length > 0) throw new Faults(errors.map((error) => this.#fault(error, file)));
    const lang = this.descriptor.script?.lang?.startsWith("ts") ? "ts" : "js";
    return this.#part("template", lang, result.code, result.map, file);
  }

  #templateSettings() {
    return {
      id: this.id,
      filename: this.path,
      scoped: this.isScoped,
      slotted: this.descriptor.slotted,
      isProd: false,
      transformAssetUrls: { base: null, includeAbsolute: true, tags: ASSETS },
      compilerOptions: {
        scopeId: this.isScoped ? `data-v-${this.id}` : undefined,
        bindingMetadata: this.bindings,
        prefixIdentifiers: true,
        expressionPlugins:
          (this.descriptor.scriptSetup ?? this.descriptor.script)?.lang?.startsWith("ts")
            ? ["typescript"]
            : [],
      },
    };
  }

  /** The lines that bring a style in, and its class names if it is a module. */
  #style(style, index) {
    const file = style.src ? this.#found(style.src) : this.path;
    if (!file) return [];
    const text = style.src ? this.files.text(file) : this.#padded(style);
    // PostCSS would look for the map.
    const source = text.replace(/(\/\*\s*# sourceMappingURL)=/g, "$1 ");
    const result = compileStyle({
      source,
      filename: file,
      id: `data-v-${this.id}`,
      scoped: Boolean(style.scoped),
      isProd: false,
    });
    if (result.errors.length > 0) {
      throw new Faults(result.errors.map((error) => this.#fault(error, file)));
    }
    const name = `${this.path}?style${index}`;
    const loader = style.module ? "local-css" : "css";
    this.bundle.add(name, { file, contents: result.code, loader });
    if (!style.module) return [`import ${JSON.stringify(name)};`];
    const key = JSON.stringify(style.module === true ? "$style" : style.module);
    return [
      `import style${index} from ${JSON.stringify(name)};`,
      `(component.__cssModules ??= {})[${key}] = style${index};`,
    ];
  }

  /** At the lines and columns that it has in its file. */
  #padded(block) {
    const before = this.text.slice(0, block.loc.start.offset);
    return before.replace(/[^\n]/g, " ") + block.content;
  }

  #part(kind, loader, contents, map, file = this.path) {
    const name = `${this.path}?${kind}`;
    const source = posix.relative(posix.dirname(name), file);
    const data = Buffer.from(JSON.stringify({ ...map, sources: [encodeURI(source)] })).toString("base64");
    const comment = `\n//# sourceMappingURL=data:application/json;base64,${data}\n`;
    this.bundle.add(name, { file, contents: contents + comment, loader, map });
    return JSON.stringify(name);
  }

  /** The file that a part stands in; a fault if there is none. */
  #found(source) {
    const found = byName(this.files, this.path, source);
    if (found) return found.path;
    const { text, note } = missing(this.files, this.path, source);
    const offset = Math.max(0, this.text.indexOf(source));
    const length = source.length;
    this.faults.push(fault(place(this.path, this.text, offset), text, { length, note }));
    return null;
  }

  #compiled(settings) {
    try {
      return compileScript(this.descriptor, settings);
    } catch (error) {
      if (error instanceof RangeError) throw error;
      const found = this.#fault(error);
      const note = this.#isTyped(settings) ? 'types are written in <script lang="ts">' : null;
      throw new Faults([{ ...found, note }]);
    }
  }

  /** Whether the script would be one in TypeScript. */
  #isTyped(settings) {
    const scripts = [this.descriptor.script, this.descriptor.scriptSetup].filter(Boolean);
    if (scripts.some(({ lang }) => lang)) return false;
    for (const script of scripts) script.lang = "ts";
    try {
      compileScript(this.descriptor, settings);
      return true;
    } catch {
      return false;
    }
  }

  /** An error of Vue's compiler, of Babel's parser or of PostCSS. */
  #fault(error, file = this.path) {
    const message = String(error.reason ?? error.message);
    const text = this.files.text(file);
    const first = message
      .split("\n")[0]
      .replace(/^\[(@?vue\/)?compiler-sfc\] /, "")
      .replace(/ \(\d+:\d+\)$/, "")
      .replace(/(single file component)\. .*$/, "$1");
    if (error.loc?.start) {
      const offset = error.loc.start.offset;
      const length = Math.max(1, error.loc.end.offset - offset);
      return fault(place(file, text, offset), first, { length });
    }
    if (error.line) return fault({ file, line: error.line, column: error.column ?? 1 }, first);
    // compileScript tells the place in the text of its message.
    const excerpt = /\n(\d+)\s*\|[^\n]*\n\s*\|([^\n]*?)(\^+)/.exec(message);
    if (!excerpt) return fault({ file }, first);
    const [, line, spaces, marks] = excerpt;
    const column = spaces.replace(/^ {2}/, "").length + 1;
    return fault({ file, line: Number(line), column }, first, { length: marks.length });
  }
}
