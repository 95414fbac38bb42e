// What a page loads to turn its code into editors: `<pre data-lang="python">`,
// or `<div data-lang="java">` around several `<pre data-file="Main.java">`, and
// what else a selector of the page finds, such as the code of Markdown.

import { namedLanguage, shortHash, tidied, type CodeFile } from "./attributes";
import { EmbeddedEditor } from "./frame";
import { languageOf, type LanguageNames } from "./names";

export interface Sandpiper {
  /** Turns one element into an editor, at once, or gives the one that it is; `null` where it cannot be one. */
  embed(target: Element | string): EmbeddedEditor | null;
  /** Turns all below `root` that `selector` finds into editors, each when it comes near the view. */
  embedAll(root?: ParentNode, selector?: string): EmbeddedEditor[];
}

/** The server replaces this name by the languages that it has (crates/server/src/embed/script.rs). */
declare const SANDPIPER_LANGUAGES: LanguageNames;

declare global {
  interface Window {
    Sandpiper?: Sandpiper;
  }
}

/** How near the view an editor is loaded. */
const MARGIN = "800px";

const script = ownScript();
const base = script?.src ?? location.href;
const besides = script?.dataset["selector"];
const SELECTOR = `pre[data-lang], div[data-lang]${besides === undefined ? "" : `, ${besides}`}`;
const made = new WeakMap<Element, EmbeddedEditor>();
const refused = new WeakSet<Element>();
const autosaves = new Set<string>();

/** The box of the code: of Markdown's `<pre><code>` the outer. */
function boxOf(target: Element): Element {
  return target.closest("pre:not([data-file])") ?? target;
}

/** The editor of an element, or why it cannot be one. */
function prepare(target: Element): EmbeddedEditor | string {
  const known = made.get(target);
  if (known !== undefined) return known;
  if (!(target instanceof HTMLElement) || !target.isConnected) return "it is no element of the page";
  const inner = target.querySelector<HTMLElement>(":scope > code");
  const marked = inner === null ? [target] : [target, inner];
  const name = namedLanguage(marked);
  const language = languageOf(name, SANDPIPER_LANGUAGES);
  if (language === null) return name === "" ? "it names no language" : `no language that runs is called ${name}`;
  const files = filesOf(target);
  if (files === null) return "it holds something else than <pre data-file>";
  const dataset = { ...inner?.dataset, ...target.dataset };
  const editor = new EmbeddedEditor(target, {
    base,
    wanted: { language, dataset, files },
    autosave: autosaveOf(language, files),
    title: dataset["title"] ?? `${language} editor`,
  });
  made.set(target, editor);
  made.set(editor.element, editor);
  return editor;
}

/** `null` where it is not ours: a box of another script that happens to name a language. */
function filesOf(target: HTMLElement): CodeFile[] | null {
  const contentOf = (box: Element) => tidied(box.textContent ?? "");
  const pres = [...target.querySelectorAll<HTMLElement>("pre[data-file]")];
  if (pres.length > 0) return pres.map((pre) => ({ path: pre.dataset["file"] ?? "", content: contentOf(pre) }));
  const content = contentOf(target);
  // An empty one shows the program that the language starts with.
  if (content === "\n") return [];
  if (!(target instanceof HTMLPreElement)) return null;
  const path = target.dataset["file"];
  return [path === undefined ? { content } : { path, content }];
}

/** One warning for all that was asked for and is left as it is. */
function warn(faults: readonly (readonly [Element | string, string])[]): void {
  if (faults.length === 0) return;
  const tagOf = (target: Element | string) =>
    typeof target === "string" ? target : (target.cloneNode() as Element).outerHTML.replace(/<\/.*$/, "");
  const lines = faults.map(([target, reason]) => `${tagOf(target)}: ${reason}`);
  console.warn(`Sandpiper leaves as it is:\n${lines.join("\n")}`);
}

/** The same on every visit, another for each editor of a page. */
function autosaveOf(language: string, files: readonly CodeFile[]): string {
  const own = shortHash(location.pathname + language + JSON.stringify(files.map((file) => file.path)));
  let key = own;
  for (let count = 2; autosaves.has(key); count++) key = `${own}-${count}`;
  autosaves.add(key);
  return key;
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

/** Takes what is found, and gives why the rest cannot be taken. */
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

/** The elements below `root` that are in no other of them. */
function outermost(root: ParentNode, selector: string): Element[] {
  return [...root.querySelectorAll(selector)].filter((target) => !target.parentElement?.closest(selector));
}

const sandpiper: Sandpiper = {
  embed(target) {
    const found = typeof target === "string" ? document.querySelector(target) : target;
    const editor = found === null ? "no element is found by it" : prepare(boxOf(found));
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

/** While the page still comes in, each is given its room at once: nothing that was painted moves. */
function embedWhileLoading(): void {
  const isWhole = (target: Element) => {
    // Something comes after it, so the parser has left it.
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
  if (document.readyState === "loading") embedWhileLoading();
  else sandpiper.embedAll();
}
