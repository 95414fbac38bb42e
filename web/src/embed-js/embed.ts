// The script that turns the code of a page into editors: `<pre
// data-lang="python">`, `<div data-lang="java">` around several `<pre
// data-file="Main.java">`, and elements that a selector of the page finds, such as
// the code of Markdown.

import { expectedOf, fileOf, isSet, keyOf, namedLanguage, type CodeFile } from "./attributes";
import { EmbeddedEditor } from "./frame";
import { languageOf, type LanguageNames } from "./names";

export interface Sandpiper {
  /** Turns an element into an editor at once, or returns its editor; `null` if it cannot be one. */
  embed(target: Element | string): EmbeddedEditor | null;
  /** Turns the elements below `root` that match `selector` into editors. Each is loaded when it comes near the view. */
  embedAll(root?: ParentNode, selector?: string): EmbeddedEditor[];
}

/** The server replaces this name by the languages that it has (crates/server/src/embed/script.rs). */
declare const SANDPIPER_LANGUAGES: LanguageNames;
/** The languages that /editor has, and /embed has not. */
declare const SANDPIPER_OTHERS: readonly string[];

declare global {
  interface Window {
    Sandpiper?: Sandpiper;
  }
}

/** The distance from the view at which an editor is loaded. */
const MARGIN = "800px";

const script = ownScript();
const base = script?.src ?? location.href;
const besides = script?.dataset["selector"];
const SELECTOR = `pre[data-lang], div[data-lang]${besides === undefined ? "" : `, ${besides}`}`;
/** The child of an element whose text is the expected output. */
const EXPECTED = ":scope > [data-expected]";
const made = new WeakMap<Element, EmbeddedEditor>();
const refused = new WeakSet<Element>();
/** All editors. A site without reloads removes them with its pages. */
const all = new Set<WeakRef<EmbeddedEditor>>();

/** The element to replace: of Markdown's `<pre><code>` the outer one. */
function boxOf(target: Element): Element {
  return target.closest("pre:not([data-file])") ?? target;
}

/** The editor of an element, or the reason why it cannot be one. */
function prepare(target: Element): EmbeddedEditor | string {
  const known = made.get(target);
  if (known !== undefined) return known;
  if (!(target instanceof HTMLElement) || !target.isConnected) return "it is not an element of the page";
  uncopy(target);
  const inner = target.querySelector<HTMLElement>(":scope > code");
  const marked = inner === null ? [target] : [target, inner];
  const name = namedLanguage(marked);
  const language = languageOf(name, SANDPIPER_LANGUAGES);
  if (language === null) return name === "" ? "it names no language" : `this server has no language ${name}`;
  const files = filesOf(target);
  if (files === null) return "it contains something other than <pre data-file>";
  const expected = target.querySelector(EXPECTED);
  const besides = expected === null ? {} : { expected: expectedOf(expected) };
  const dataset: DOMStringMap = { ...besides, ...inner?.dataset, ...target.dataset };
  const autosave = autosaveOf(language, files);
  const editor = new EmbeddedEditor(target, {
    base,
    wanted: { language, address: SANDPIPER_OTHERS.includes(language) ? "editor" : "embed", dataset, files },
    autosave,
    title: dataset["title"] ?? `${language} editor`,
  });
  all.add(new WeakRef(editor));
  made.set(target, editor);
  made.set(editor.element, editor);
  return editor;
}

/** Puts the code back if it is in a copy of an editor: some sites keep copies of pages that were left. */
function uncopy(target: HTMLElement): void {
  const box = target.parentElement;
  if (box === null || !box.classList.contains("sandpiper-embed") || made.has(box)) return;
  target.hidden = false;
  box.replaceWith(target);
}

/** The files in an element; `null` if it is not meant for this script. */
function filesOf(target: HTMLElement): CodeFile[] | null {
  const codeOf = (box: HTMLElement) => {
    const code = box.cloneNode(true) as HTMLElement;
    code.querySelector(EXPECTED)?.remove();
    return fileOf(box.dataset, code.textContent ?? "");
  };
  const pres = [...target.querySelectorAll<HTMLElement>("pre[data-file]")];
  // Until the editor is loaded, the code is seen.
  for (const pre of pres) pre.hidden ||= isSet(pre.dataset["hidden"]);
  if (pres.length > 0) return pres.map(codeOf);
  const only = codeOf(target);
  // An empty element shows the starter of the language.
  if (only.content === "\n") return [];
  return target instanceof HTMLPreElement ? [only] : null;
}

/** Logs one warning for all elements that are not replaced. */
function warn(faults: readonly (readonly [Element | string, string])[]): void {
  if (faults.length === 0) return;
  const tagOf = (target: Element | string) =>
    typeof target === "string" ? target : (target.cloneNode() as Element).outerHTML.replace(/<\/.*$/, "");
  const lines = faults.map(([target, reason]) => `${tagOf(target)}: ${reason}`);
  console.warn(`Sandpiper did not replace:\n${lines.join("\n")}`);
}

/** A key that is the same on every visit, and different for each editor of a page. */
function autosaveOf(language: string, files: readonly CodeFile[]): string {
  const own = keyOf(location, language, files);
  let key = own;
  // A site without reloads comes back to a page whose editors it has removed.
  const isTaken = () => living().some(({ autosave, element }) => autosave === key && element.isConnected);
  for (let count = 2; isTaken(); count++) key = `${own}-${count}`;
  return key;
}

/** The editors that are in use. */
function living(): EmbeddedEditor[] {
  return [...all].flatMap((one) => {
    const editor = one.deref();
    if (editor === undefined) all.delete(one);
    return editor ?? [];
  });
}

const nearby =
  typeof IntersectionObserver === "undefined"
    ? null
    : new IntersectionObserver(onNear, { rootMargin: MARGIN });
const sleeping = new WeakMap<Element, EmbeddedEditor>();

function onNear(entries: IntersectionObserverEntry[]): void {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    nearby?.unobserve(target);
    sleeping.get(target)?.load();
  }
}

function ownScript(): HTMLScriptElement | null {
  const current = document.currentScript;
  if (current instanceof HTMLScriptElement && current.src !== "") return current;
  return document.querySelector<HTMLScriptElement>('script[src*="embed.js"]');
}

/** Makes editors of the elements, and returns the reasons for the others. */
function take(targets: Iterable<Element>): { editors: EmbeddedEditor[]; faults: [Element, string][] } {
  const editors: EmbeddedEditor[] = [];
  const faults: [Element, string][] = [];
  for (const target of new Set([...targets].map(boxOf))) {
    const editor = prepare(target);
    if (typeof editor === "string") {
      faults.push([target, editor]);
      continue;
    }
    editors.push(editor);
    if (nearby === null) editor.load();
    sleeping.set(editor.element, editor);
    nearby?.observe(editor.element);
  }
  return { editors, faults };
}

/** The matching elements below `root` that are not inside of another match. */
function outermost(root: ParentNode, selector: string): Element[] {
  return [...root.querySelectorAll(selector)].filter((target) => !target.parentElement?.closest(selector));
}

const sandpiper: Sandpiper = {
  embed(target) {
    const found = typeof target === "string" ? document.querySelector(target) : target;
    const editor = found === null ? "no element matches it" : prepare(boxOf(found));
    if (typeof editor !== "string") {
      editor.load();
      return editor;
    }
    warn([[found ?? String(target), editor]]);
    return null;
  },
  embedAll(root = document, selector = SELECTOR) {
    const { editors, faults } = take(outermost(root, selector));
    warn(faults.filter(([target]) => !refused.has(target)));
    for (const [target] of faults) refused.add(target);
    return editors;
  },
};

/** Reserves the space of each editor while the page is still loading, so that nothing moves after it is painted. */
function embedWhileLoading(): void {
  const isWhole = (target: Element) => {
    // A later sibling shows that the parser has left the element.
    for (let node: Node | null = target; node !== null; node = node.parentNode) {
      if (node.nextSibling !== null) return true;
    }
    return false;
  };
  const observer = new MutationObserver(() => take(outermost(document, SELECTOR).filter(isWhole)));
  observer.observe(document, { childList: true, subtree: true });
  addEventListener("DOMContentLoaded", () => {
    observer.disconnect();
    sandpiper.embedAll();
  });
}

// A page that loads the script twice gets its editors once.
if (window.Sandpiper === undefined) {
  window.Sandpiper = sandpiper;
  addEventListener("message", (event) => living().forEach((editor) => editor.greet(event)));
  if (document.readyState === "loading") embedWhileLoading();
  else sandpiper.embedAll();
}
