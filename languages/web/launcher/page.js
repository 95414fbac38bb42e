// A page: parsed, and what it refers to among the submitted files taken in. All
// else stays as it was written, byte by byte.
import { parse } from "parse5";
import { Faults, fault, place } from "./faults.js";
import { Scripts } from "./scripts.js";
import { Styles } from "./styles.js";
import { byAddress, missing } from "./resolve.js";
import { served } from "./served.js";
import { Bundle } from "./bundle.js";
import { asAttribute, dataUrl, isElsewhere } from "./text.js";

/** Attributes that name a file, by element. */
const REFERENCES = {
  img: ["src"], source: ["src"], video: ["src", "poster"], audio: ["src"], track: ["src"],
  embed: ["src"], object: ["data"], input: ["src"], image: ["href", "xlink:href"],
  feimage: ["href", "xlink:href"], body: ["background"],
};
const SETS = { img: ["srcset"], source: ["srcset"], link: ["imagesrcset"] };
const ICONS = /(^|\s)(icon|apple-touch-icon|manifest|mask-icon)(\s|$)/i;
const PRELOAD = /(^|\s)preload(\s|$)/i;

/**
 * The page `file` as a document that needs no other file but the framework's
 * script: `{text, frameworkAt}`, the latter being where that goes or null.
 */
export async function document(bundle, file, text, mount = null, around = []) {
  const page = new Page(bundle, file, text, around);
  page.scripts = new Scripts(page, mount);
  page.styles = new Styles(page);
  page.walk(parse(text, { sourceCodeLocationInfo: true }));
  page.start();
  await page.scripts.check();
  await page.takeFrames();
  const outputs = await page.built();
  page.scripts.insert(outputs);
  page.styles.insert(outputs);
  return page.edited();
}

class Page {
  edits = [];
  faults = [];
  entries = [];

  frames = [];

  /** `around` are the pages in whose frames this one is. */
  constructor(bundle, file, text, around) {
    this.around = [...around, file];
    this.bundle = bundle;
    this.files = bundle.files;
    this.file = file;
    this.text = text;
  }

  /** In the page's order; a page may be deeper than calls can be. */
  walk(root) {
    const waiting = [root];
    while (waiting.length > 0) {
      const node = waiting.pop();
      if (node.tagName && node.sourceCodeLocation) this.#element(node);
      if (node.content) waiting.push(node.content);
      for (const child of (node.childNodes ?? []).toReversed()) waiting.push(child);
    }
  }

  #element(node) {
    const { tagName } = node;
    const name = tagName.toLowerCase();
    if (tagName === "head" || tagName === "html") this[tagName] = node.sourceCodeLocation;
    if (tagName === "meta") this.#meta(node);
    if (tagName === "script") return this.scripts.add(node);
    if (tagName === "style") return this.styles.add(node);
    if (attribute(node, "style")?.includes("url(")) this.styles.addAttribute(node);
    if (tagName === "link" && isStylesheet(node)) return this.styles.addLink(node);
    if (tagName === "link" && this.#isTaken(node)) this.#reference(node, "href");
    if (tagName === "link" && attribute(node, "rel") === "modulepreload") this.#gone(node);
    const frame = tagName === "iframe" && attribute(node, "srcdoc") == null && attribute(node, "src");
    if (frame && !isElsewhere(frame)) this.frames.push(node);
    if (tagName === "input" && attribute(node, "type")?.toLowerCase() !== "image") return;
    for (const one of REFERENCES[name] ?? []) this.#reference(node, one);
    for (const one of SETS[name] ?? []) this.#set(node, one);
  }

  /** Templates of projects name icons that nobody submits, and a page does without. */
  #isTaken(node) {
    const rel = attribute(node, "rel") ?? "";
    const isThere = byAddress(this.files, this.file, attribute(node, "href") ?? "") != null;
    return PRELOAD.test(rel) || (ICONS.test(rel) && isThere);
  }

  #gone(node) {
    const { startOffset, endOffset } = node.sourceCodeLocation;
    const isHere = !isElsewhere(attribute(node, "href") ?? "");
    if (isHere) this.edits.push({ start: startOffset, end: endOffset, text: "" });
  }

  #meta(node) {
    const type = attribute(node, "http-equiv")?.toLowerCase() === "content-type";
    const charset = attribute(node, "charset");
    if (charset != null) this.#change(node, "charset", "utf-8", charset);
    if (type) this.#change(node, "content", "text/html; charset=utf-8", null);
    this.hasCharset ||= charset != null || type;
  }

  #reference(node, name) {
    const address = attribute(node, name);
    if (address == null || isElsewhere(address)) return;
    const found = this.found(node, name, address);
    if (found) this.#change(node, name, found, address);
  }

  #set(node, name) {
    const value = attribute(node, name);
    if (value == null) return;
    const taken = value.replace(/([^\s,]\S*[^\s,]|[^\s,])([^,]*)/g, (whole, address, rest) => {
      if (isElsewhere(address)) return whole;
      return (this.found(node, name, address) ?? address) + rest;
    });
    this.#change(node, name, taken, value);
  }

  /** The file as an address that holds it; a fault if there is none. */
  found(node, name, address) {
    const found = this.located(node, name, address);
    return found && dataUrl(found.path, this.files.bytes(found.path)) + found.fragment;
  }

  /** The file that an attribute names; a fault if there is none. */
  located(node, name, address) {
    const found = byAddress(this.files, this.file, address);
    if (found) return found;
    const { text, note } = missing(this.files, this.file, address);
    const { startOffset, endOffset } = node.sourceCodeLocation.attrs[name];
    const raw = this.text.slice(startOffset, endOffset);
    const inside = raw.indexOf(address.trim());
    const start = inside >= 0 ? inside : /^[^=]*=?\s*["']?/.exec(raw)[0].length;
    const at = place(this.file, this.text, startOffset + start);
    const length = inside >= 0 ? address.trim().length : 1;
    this.faults.push(fault(at, text, { length, note }));
    return null;
  }

  #change(node, name, value, before) {
    if (value === before) return;
    const { startOffset, endOffset } = node.sourceCodeLocation.attrs[name];
    const text = `${name}="${asAttribute(value)}"`;
    this.edits.push({ start: startOffset, end: endOffset, text });
  }

  /** The start of the page: one that is read from a file says that it is UTF-8. */
  start() {
    const doctype = /^\s*<!doctype[^>]*>/i.exec(this.text)?.[0].length ?? 0;
    const at = this.head?.startTag?.endOffset ?? this.html?.startTag?.endOffset ?? doctype;
    const charset = this.hasCharset ? "" : '<meta charset="utf-8">';
    const text = charset + served(this.files, this.file);
    if (text) this.edits.push({ start: at, end: at, text });
  }

  /** Pages in frames become parts of this one. */
  async takeFrames() {
    for (const node of this.frames) {
      const found = this.located(node, "src", attribute(node, "src"));
      if (!found || this.around.includes(found.path)) continue;
      try {
        const bundle = new Bundle(this.files, null);
        const text = this.files.text(found.path);
        const inner = await document(bundle, found.path, text, null, this.around);
        const { startOffset, endOffset } = node.sourceCodeLocation.attrs.src;
        const edit = `srcdoc="${asAttribute(inner.text)}"`;
        this.edits.push({ start: startOffset, end: endOffset, text: edit });
      } catch (error) {
        if (!(error instanceof Faults)) throw error;
        this.faults.push(...error.list);
      }
    }
  }

  async built() {
    try {
      const outputs = this.entries.length > 0 ? await this.bundle.build(this.entries) : new Map();
      if (this.faults.length === 0) return outputs;
    } catch (error) {
      if (!(error instanceof Faults)) throw error;
      this.faults.push(...error.list);
    }
    throw new Faults(this.faults);
  }

  edited() {
    let text = "";
    let at = 0;
    let frameworkAt = null;
    for (const edit of this.edits.sort((a, b) => a.start - b.start || a.end - b.end)) {
      text += this.text.slice(at, edit.start);
      if (edit.framework) frameworkAt = text.length + edit.framework;
      text += edit.text;
      at = edit.end;
    }
    return { text: text + this.text.slice(at), frameworkAt };
  }
}

export function attribute(node, name) {
  const found = node.attrs.find((one) => (one.prefix ? `${one.prefix}:${one.name}` : one.name) === name);
  return found?.value ?? null;
}

const isStylesheet = (node) =>
  /(^|\s)stylesheet(\s|$)/i.test(attribute(node, "rel") ?? "") &&
  !isElsewhere(attribute(node, "href") ?? "");
