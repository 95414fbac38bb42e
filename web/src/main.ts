// The part of the editor page that is needed for typing. page.ts has the rest,
// which is loaded after it.

import "./styles/theme.css";
import "./styles/page.css";
import "./styles/results.css";
import "./styles/notice.css";
import "./styles/output.css";
import "./styles/start.css";
import "./styles/touch.css";
import "./styles/contrast.css";

import { readConfig, readParameters } from "./config";
import { byId } from "./dom";
import { Editor } from "./editor/editor";
import { grammarOf } from "./editor/languages";
import { FileTabs } from "./files/tabs";
import { listenToKeys } from "./keys";
import { Later } from "./later";
import { learn, speak, t } from "./messages";
import { onNewFragment, startingPoint } from "./parent/fragment";
import { EarlyMessages } from "./parent/early-messages";
import type { Page } from "./page";
import { InputBox } from "./run/input";
import { Edits } from "./store/edits";
import { Notice } from "./store/notice";
import { Reader } from "./store/reader";
import { Workspace } from "./workspace";

const messages = new EarlyMessages();
const config = readConfig(document);
const parameters = readParameters(location.search);
const root = document.documentElement;
speak(root.lang, config.words, root.dir === "rtl");
const reader = new Reader(parameters, () => localStorage);
root.dataset["layout"] = parameters.layout;
root.dataset["hide"] = [...parameters.hide].join(" ");
root.dataset["output"] = config.output;
root.toggleAttribute("data-framed", parent !== window);

/** The commands that came before page.ts was loaded. */
const requested = new Set<keyof Page>();
let page: Page | null = null;
let rest: Later<Page> | null = null;
let isLost = false;
const clicks = new AbortController();
for (const [id, name] of [["run", "run"], ["menu-button", "menu"]] as const) {
  byId(id).addEventListener("click", () => request(name), { signal: clicks.signal });
}
byId("menu-button").addEventListener("keydown", (event) => menuKey(event), { signal: clicks.signal });
listenToKeys({ run: () => request("run"), save: () => void (rest !== null && notice.show(edits.keep())) });
if (root.dataset["early"] === "run") request("run");
delete root.dataset["early"];

const starter = { entryFile: config.entryFile, files: config.files, stdin: "" };
const start = await startingPoint(location.hash, starter);
const workspace = new Workspace(start.snapshot);

// It is preloaded. Without it only the colours are missing.
const grammar = (await grammarOf(workspace.active, config.editor).catch(() => ((isLost = true), null))) ?? [];
const code = byId("code");
code.replaceChildren();
// The attribute is for scrolling without a script; the editor has its own.
code.removeAttribute("tabindex");
const { language, nonce } = config;
const editor = new Editor({
  workspace,
  parameters,
  reader,
  settings: config.editor,
  nonce,
  parent: code,
  grammar,
  onRun: () => request("run"),
  onSearch: () => request("search"),
  onFormat: () => request("format"),
  onRefused: () => notice.show(t("start.lines-refused")),
  onLost: () => lost(),
});

// The focus does not go to the editor: on a phone that opens the keyboard.
const notice = new Notice(byId("left"), () => byId("menu-button").focus());
const canEditFiles = parameters.files === "edit" && !parameters.hide.has("tabs");
const files = new FileTabs(workspace, notice, canEditFiles);
const keys = byId("keys");
const keysOfEditor = keys.textContent;
let isLockedByPage = false;
const setReadOnly = (isReadOnly: boolean) => {
  editor.setReadOnly(isReadOnly);
  files.setEditable(canEditFiles && !isReadOnly);
  isLockedByPage = isReadOnly;
  describeKeys();
};
setReadOnly(parameters.readonly);
workspace.filesChanged.listen(describeKeys);
const { isFromLink } = start;
const edits = new Edits({ workspace, language, parameters, notice, isFromLink });
edits.restore();
if (start.fault !== null) notice.show(start.fault);
onNewFragment(starter, (found) => {
  if (found.fault !== null) notice.show(found.fault);
  // Also back at an address without code.
  else if (found.isFromLink || !edits.isStart(starter)) edits.start(found.snapshot);
});
const input = new InputBox(workspace);

rest = new Later(async () => {
  const [{ complete }] = await Promise.all([import("./page"), learn()]);
  return complete({ config, parameters, reader, workspace, editor, edits, notice, input, messages, files, setReadOnly });
});
addEventListener("online", () => isLost && load());
if (isLost) lost();
// After the editor has been drawn.
setTimeout(load);

function request(name: keyof Page): void {
  if (page !== null) return page[name]();
  requested.add(name);
  if (name === "run") byId("status").textContent = t("start.running");
  load();
}

function describeKeys(): void {
  const isLocked = workspace.locked(workspace.active) === true;
  root.toggleAttribute("data-readonly", isLockedByPage || isLocked);
  const words = isLocked ? t("start.locked-file") : keysOfEditor;
  keys.textContent = isLockedByPage ? t("start.read-only") : words;
}

function menuKey(event: KeyboardEvent): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  event.preventDefault();
  request(event.key === "ArrowDown" ? "menu" : "menuEnd");
}

/** Loads what is missing; the commands that came before are executed then. */
function load(): void {
  // It is loaded when the editor is there.
  if (rest === null) return;
  if (isLost) editor.retry();
  isLost = false;
  if (page === null) rest.get().then(begin, lost);
}

function begin(loaded: Page): void {
  if (page !== null) return;
  page = loaded;
  clicks.abort();
  for (const name of requested) page[name]();
}

function lost(): void {
  isLost = true;
  if (requested.has("run")) byId("status").textContent = t("start.run-lost");
  const again = { label: t("start.try-again"), act: load };
  notice.show(t("start.page-lost"), again);
}
