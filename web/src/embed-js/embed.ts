// What a page loads to turn its code into editors: `<pre data-lang="python">`,
// or `<div data-lang="java">` around several `<pre data-file="Main.java">`.

import { languageOf } from "../language-names";
import { shortHash, tidied, type CodeFile } from "./attributes";
import { EmbeddedEditor } from "./frame";

export interface Sandpiper {
  /** Turns one element into an editor, at once; `null` where it has no language that runs. */
  embed(target: Element | string): EmbeddedEditor | null;
  /** Turns all below `root` into editors, each when it comes near the view. */
  embedAll(root?: ParentNode, isWanted?: (target: Element) => boolean): EmbeddedEditor[];
}

declare global {
  interface Window {
    Sandpiper?: Sandpiper;
  }
}

const SELECTOR = "pre[data-lang], div[data-lang]";
/** How near the view an editor is loaded. */
const MARGIN = "800px";

const base = scriptUrl();
const made = new WeakMap<Element, EmbeddedEditor>();
const autosaves = new Set<string>();

function prepare(target: Element): EmbeddedEditor | null {
  const known = made.get(target);
  if (known !== undefined) return known;
  if (!(target instanceof HTMLElement) || !target.isConnected) return null;
  const language = languageOf(target.dataset["lang"] ?? "");
  const files = filesOf(target);
  if (language === null || files === null) return null;
  const editor = new EmbeddedEditor(target, {
    base,
    wanted: { language, dataset: target.dataset, files },
    autosave: autosaveOf(language, files),
    title: target.dataset["title"] ?? `${language} editor`,
  });
  made.set(target, editor);
  return editor;
}

/** `null` where it is not ours: a box of another script that happens to name a language. */
function filesOf(target: HTMLElement): CodeFile[] | null {
  const contentOf = (pre: Element) => tidied(pre.textContent ?? "");
  if (target instanceof HTMLPreElement) {
    const path = target.dataset["file"];
    const content = contentOf(target);
    // An empty one shows the program that the language starts with.
    if (content === "\n") return [];
    return [path === undefined ? { content } : { path, content }];
  }
  const pres = [...target.querySelectorAll<HTMLElement>("pre[data-file]")];
  if (pres.length === 0) return null;
  return pres.map((pre) => ({ path: pre.dataset["file"] ?? "", content: contentOf(pre) }));
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

function scriptUrl(): string {
  const current = document.currentScript;
  if (current instanceof HTMLScriptElement && current.src !== "") return current.src;
  const loaded = document.querySelector<HTMLScriptElement>('script[src*="embed.js"]');
  return loaded?.src ?? location.href;
}

const sandpiper: Sandpiper = {
  embed(target) {
    const element = typeof target === "string" ? document.querySelector(target) : target;
    const editor = element === null ? null : prepare(element);
    editor?.load();
    return editor;
  },
  embedAll(root = document, isWanted = () => true) {
    const outermost = (target: Element) => !target.parentElement?.closest(SELECTOR);
    const targets = [...root.querySelectorAll(SELECTOR)].filter((target) => outermost(target) && isWanted(target));
    const editors = targets.map(prepare).filter((editor) => editor !== null);
    for (const editor of editors) {
      if (nearby === null) editor.load();
      sleeping.set(editor.element, editor);
      nearby?.observe(editor.element);
    }
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
  const observer = new MutationObserver(() => sandpiper.embedAll(document, isWhole));
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
