// The styles of a page: linked files, style elements and attributes.
import { attribute } from "./page.js";
import { asAttribute, asStyle } from "./text.js";

/** Parts for which a stylesheet needs more than to be copied. */
const REFERS = /@import|url\(|image-set\(|\\/i;

export class Styles {
  #pieces = [];

  constructor(page) {
    this.page = page;
  }

  /** A style element. */
  add(node) {
    const { startTag, endTag } = node.sourceCodeLocation;
    const [start, end] = [startTag.endOffset, endTag?.startOffset ?? startTag.endOffset];
    const css = this.page.text.slice(start, end);
    if (!REFERS.test(css)) return;
    const padded = this.page.text.slice(0, start).replace(/[^\n]/g, " ") + css;
    this.#build(padded, (text) => this.#edit(start, end, asStyle(text)));
  }

  /** An element's own style. */
  addAttribute(node) {
    const { startOffset, endOffset } = node.sourceCodeLocation.attrs.style;
    const before = this.page.text.slice(0, startOffset).replace(/[^\n]/g, " ");
    const css = `${before.slice(0, -2)}a{${attribute(node, "style")}}`;
    this.#build(css, (text) => {
      const inner = text.slice(text.indexOf("{") + 1, text.lastIndexOf("}"));
      const line = inner.trim().split(/\n\s*/).join(" ");
      this.#edit(startOffset, endOffset, `style="${asAttribute(line)}"`);
    });
  }

  /** A link to a stylesheet, which becomes a style element. */
  addLink(node) {
    const found = this.page.located(node, "href", attribute(node, "href"));
    if (!found) return;
    const { startOffset, endOffset } = node.sourceCodeLocation;
    const kept = ["media", "title", "id", "class", "disabled", "nonce"];
    const attributes = node.attrs
      .filter(({ name }) => kept.includes(name) || name.startsWith("data-"))
      .map(({ name, value }) => ` ${name}="${asAttribute(value)}"`);
    const insert = (css) => {
      const text = `<style${attributes.join("")}>\n${asStyle(css).trimEnd()}\n</style>`;
      this.#edit(startOffset, endOffset, text);
    };
    const css = this.page.files.text(found.path);
    if (!REFERS.test(css)) return insert(css);
    this.#add(found.path, insert);
  }

  insert(outputs) {
    for (const { out, put } of this.#pieces) put(outputs.get(`${out}.css`) ?? "");
  }

  #build(contents, put) {
    const name = `${this.page.file}?css${this.#pieces.length}`;
    this.page.bundle.add(name, { file: this.page.file, contents, loader: "css", isInPlace: true });
    this.#add(name, put);
  }

  #add(name, put) {
    const out = `style${this.#pieces.length}`;
    this.#pieces.push({ out, put });
    this.page.entries.push({ in: name, out });
  }

  #edit(start, end, text) {
    this.page.edits.push({ start, end, text });
  }
}
