// The scripts of a page: classic ones as they are, modules as bundles, each at
// its place and in its turn.
import { Script } from "node:vm";
import * as esbuild from "esbuild";
import { fault, place } from "./faults.js";
import { identity } from "./map.js";
import { attribute } from "./page.js";
import { asAttribute, asScript, asStyle, fitsScript, isElsewhere, named, scriptUrl } from "./text.js";

const CLASSIC = /^$|^(text|application)\/(x-)?(java|ecma|live|j)script[\d.]*$/i;
const TYPED = /^((text|application)\/(x-)?typescript|ts)$/i;
const REPLACED = ["src", "integrity", "crossorigin", "charset", "lang", "async"];
const REGISTRY = 'globalThis[Symbol.for("modules")]';

export class Scripts {
  #modules = [];
  #classic = [];
  #inline = [];

  /** `mount` is null, or says for a module's path by what name it is built. */
  constructor(page, mount) {
    this.page = page;
    this.mount = mount;
  }

  add(node) {
    if (!node.namespaceURI.endsWith("xhtml")) return;
    const source = attribute(node, "src");
    if (source != null && isElsewhere(source)) return;
    const kind = attribute(node, "type")?.trim() ?? "";
    const isModule = /^module$/i.test(kind);
    if (/^importmap$/i.test(kind)) return this.#importMap(node);
    const file = source == null ? null : this.page.located(node, "src", source)?.path;
    if (source != null && file == null) return;
    const isTyped = TYPED.test(kind) || TYPED.test(attribute(node, "lang") ?? "") || /\.[mc]?tsx?$/.test(file);
    if (isModule) this.#modules.push({ node, file, isTyped });
    else if (CLASSIC.test(kind) || TYPED.test(kind)) this.#classic.push({ node, file, isTyped });
    else if (file != null) this.#replace(node, this.page.files.text(file));
  }

  /** Classic scripts are parsed as the browser will, and put in place. */
  async check() {
    for (const { node, file, isTyped } of this.#classic) {
      const text = file == null ? this.#inner(node) : this.page.files.text(file);
      const code = isTyped ? await this.#untyped(text, node, file) : text;
      if (code == null || !this.#parses(code, node, file)) continue;
      if (file != null || isTyped) this.#place(node, file, code);
      else this.#inline.push(node);
    }
    this.#entries();
  }

  #place(node, file, code) {
    const name = file ?? this.page.file;
    const waits = attribute(node, "defer") != null || attribute(node, "async") != null;
    if (!waits && fitsScript(code)) return this.#replace(node, code + named(name));
    const { startOffset, endOffset } = node.sourceCodeLocation;
    const kept = this.#attributes(node, ["type", "async"]);
    const async = attribute(node, "async") == null ? "" : " async";
    const text = `<script${kept}${async} src="${scriptUrl(name, code)}"></script>`;
    this.page.edits.push({ start: startOffset, end: endOffset, text });
  }

  #parses(code, node, file) {
    const tag = node.sourceCodeLocation.startTag;
    const start = file == null ? place(this.page.file, this.page.text, tag.endOffset) : null;
    try {
      new Script(code, { filename: "script" });
      return true;
    } catch (error) {
      const [, line, column, marks] = where(error);
      const at = { file: file ?? this.page.file, line, column };
      if (start) {
        at.column += line === 1 ? start.column - 1 : 0;
        at.line += start.line - 1;
      }
      const isModule = /import statement outside|'export'|import\.meta|await is only/.test(error.message);
      const note = isModule ? 'a module is named as one: <script type="module">' : null;
      this.page.faults.push(fault(at, error.message, { length: marks, note }));
      return false;
    }
  }

  async #untyped(text, node, file) {
    const name = file ?? this.page.file;
    const tag = node.sourceCodeLocation.startTag;
    const padding = file == null ? this.page.text.slice(0, tag.endOffset).replace(/[^\n]/g, " ") : "";
    try {
      const loader = /x$/.test(name) ? "tsx" : "ts";
      return (await esbuild.transform(padding + text, { loader, charset: "utf8" })).code;
    } catch (error) {
      for (const { text: message, location } of error.errors) {
        const at = { file: name, line: location.line, column: location.column + 1 };
        this.page.faults.push(fault(at, message, { length: location.length }));
      }
      return null;
    }
  }

  #importMap(node) {
    let imports = {};
    try {
      imports = JSON.parse(this.#inner(node))?.imports ?? {};
    } catch (error) {
      const at = place(this.page.file, this.page.text, node.sourceCodeLocation.startOffset);
      this.page.faults.push(fault(at, `the import map is not JSON: ${error.message}`));
    }
    const names = Object.keys(imports).sort((a, b) => b.length - a.length);
    this.page.bundle.importMap = (name) => {
      const key = names.find((one) => one === name || (one.endsWith("/") && name.startsWith(one)));
      const target = key == null ? null : imports[key] + name.slice(key.length);
      return typeof target === "string" ? { target, file: this.page.file } : null;
    };
  }

  /** The modules as something to build: alone, or as the parts of one bundle. */
  #entries() {
    const names = this.#modules.map((module, index) => this.#module(module, index));
    if (names.length === 0) return;
    let entry = names[0];
    if (names.length > 1) {
      // A module that two scripts import runs once: all are in one bundle, and
      // each is started where its script stands.
      const starts = names.map((name) => `() => import(${JSON.stringify(name)})`);
      const contents = `${REGISTRY} = [${starts}];await ${REGISTRY}[0]();`;
      entry = this.page.bundle.add(`${this.page.file}?modules`, {
        file: null, contents, loader: "js",
      });
    }
    this.page.entries.push({ in: entry, out: "modules" });
  }

  #module({ node, file, isTyped }, index) {
    if (file != null) return this.mount?.(file) ?? file;
    const { startTag } = node.sourceCodeLocation;
    const padding = this.page.text.slice(0, startTag.endOffset).replace(/[^\n]/g, " ");
    const jsx = this.page.bundle.framework?.name === "react" ? "x" : "";
    const loader = (isTyped ? "ts" : "js") + jsx;
    return this.page.bundle.add(`${this.page.file}?module${index}`, {
      file: this.page.file, contents: padding + this.#inner(node), loader, isInPlace: true,
    });
  }

  insert(outputs) {
    this.#modules.forEach(({ node }, index) => {
      const own = `await ${REGISTRY}[${index}]();`;
      this.#replace(node, index === 0 ? outputs.get("modules.js") : own);
    });
    if (this.#modules.length > 0) this.#before(outputs);
    for (const node of this.#inline) this.#mapped(node);
  }

  /** Files taken in before a script have moved it: its errors name the page's lines. */
  #mapped(node) {
    const { startTag, endTag } = node.sourceCodeLocation;
    const at = endTag?.startOffset;
    const hasMoved = ({ start, text }) => start < startTag.startOffset && text.includes("\n");
    if (at == null || !this.page.edits.some(hasMoved)) return;
    const { file, text } = this.page;
    const map = identity(file, text, this.#inner(node), place(file, text, startTag.endOffset));
    this.page.edits.push({ start: at, end: at, text: `\n${map}` });
  }

  /** The framework and the styles that the modules need. */
  #before(outputs) {
    const start = this.#modules[0].node.sourceCodeLocation.startOffset;
    const { edits, head } = this.page;
    if (this.page.bundle.imported.size > 0) {
      edits.push({ start, end: start, text: "<script></script>\n", framework: "<script>".length });
    }
    const css = outputs.get("modules.css");
    const end = head?.endTag?.startOffset ?? Infinity;
    const at = Math.min(end, start);
    if (css) edits.push({ start: at, end: at, text: `<style>\n${asStyle(css).trimEnd()}\n</style>\n` });
  }

  #inner(node) {
    const { startTag, endTag, endOffset } = node.sourceCodeLocation;
    return this.page.text.slice(startTag.endOffset, endTag?.startOffset ?? endOffset);
  }

  #replace(node, code) {
    const { startOffset, endOffset } = node.sourceCodeLocation;
    const drop = TYPED.test(attribute(node, "type") ?? "") ? ["type"] : [];
    const text = `<script${this.#attributes(node, drop)}>${asScript(code)}</script>`;
    this.page.edits.push({ start: startOffset, end: endOffset, text });
  }

  #attributes(node, drop) {
    return node.attrs
      .filter(({ name }) => !REPLACED.includes(name) && !drop.includes(name))
      .map(({ name, value }) => (value === "" ? ` ${name}` : ` ${name}="${asAttribute(value)}"`))
      .join("");
  }
}

/** Line, column and length of the place that V8's message points to. */
function where({ stack }) {
  const found = /^script:(\d+)\n([^\n]*)\n( *)(\^+)/.exec(stack);
  if (!found) return [null, 1, 1, 1];
  const [, line, , spaces, marks] = found;
  return [null, Number(line), spaces.length + 1, marks.length];
}
