// The editor page: puts its parts together.

import "./styles/theme.css";
import "./styles/page.css";
import "./styles/results.css";
import "./styles/menu.css";
import "./styles/preview.css";
import "./styles/start.css";
import "./styles/touch.css";
import "./styles/contrast.css";
import "./styles/print.css";

import { readConfig, readParameters } from "./config";
import { byId, keepingFocus } from "./dom";
import { Editor } from "./editor/editor";
import { grammarOf } from "./editor/languages";
import { SymbolBar } from "./editor/symbols";
import { Sources, marksOf, needsInput } from "./errors";
import { FileTabs } from "./files/tabs";
import { listenToKeys } from "./keys";
import { OutputPanel } from "./output/panel";
import { linked, tables } from "./output/render";
import { Embedding } from "./parent/embedding";
import { onNewFragment, startingPoint } from "./parent/fragment";
import { Preview } from "./preview/preview";
import { RunButton } from "./run/button";
import type { RunResult } from "./run/client";
import { InputBox } from "./run/input";
import { Session } from "./run/session";
import { Menu } from "./share/menu";
import { Edits } from "./store/edits";
import { Notice } from "./store/notice";
import { Workspace } from "./workspace";

const config = readConfig(document);
const parameters = readParameters(location.search);
const root = document.documentElement;
root.dataset["theme"] = parameters.theme;
root.dataset["layout"] = parameters.layout;
root.dataset["hide"] = [...parameters.hide].join(" ");
root.style.setProperty("--font-size", `${parameters.fontSize}px`);

const starter = { entryFile: config.entryFile, files: config.files, stdin: "" };
const start = await startingPoint(location.hash, starter);
const workspace = new Workspace(start.snapshot);
const session = new Session(config.language, workspace);

// Preloaded; without it there are no colours, and nothing else is lost.
const grammar = await grammarOf(workspace.active, config.language).catch(() => []);
const code = byId("code");
code.replaceChildren();
// It was for scrolling without a script; the editor has its own.
code.removeAttribute("tabindex");
const onRun = () => void session.start();
const { language, nonce } = config;
const editor = new Editor({ workspace, language, parameters, nonce, parent: code, grammar, onRun });
new SymbolBar(editor, workspace);
listenToKeys(onRun);

// Not into the editor: on a phone that opens the keyboard.
const notice = new Notice(byId("left"), () => byId("menu-button").focus());
const canEditFiles = parameters.files === "edit" && !parameters.hide.has("tabs");
const files = new FileTabs(workspace, notice, canEditFiles && !parameters.readonly);
const setReadOnly = (isReadOnly: boolean) => {
  editor.setReadOnly(isReadOnly);
  files.setEditable(canEditFiles && !isReadOnly);
};
const { isFromLink } = start;
const edits = new Edits({ workspace, language: config.language, parameters, notice, isFromLink });
edits.restore();
if (start.fault !== null) notice.show(start.fault);
onNewFragment(starter, (found) => {
  if (found.fault !== null) notice.show(found.fault);
  else if (found.isFromLink) edits.start(found.snapshot);
});

const output = new OutputPanel();
const input = new InputBox(workspace);
new RunButton(session, output);

const preview =
  config.output !== "document"
    ? null
    : new Preview({
        parent: byId("page"),
        url: config.previewUrl,
        hasConsole: !parameters.hide.has("console"),
        memoryKey: `${config.language}/${parameters.autosave}`,
        onJump: ({ file, line, column }) => editor.jump(file, line, column),
      });

/** What was submitted: the person may type on meanwhile. */
let submitted = workspace.snapshot();
let sources = new Sources(submitted.entryFile, submitted.files);
const onJump = (path: string, line: number, column: number) => editor.jump(path, line, column);
output.renderStderr = linked({ language: config.language, sources: () => sources, onJump });
if (config.output === "tables") output.renderStdout = tables;
output.isDocument = config.output === "document";

session.started.listen(() => {
  submitted = workspace.snapshot();
  sources = new Sources(submitted.entryFile, submitted.files);
  editor.mark([]);
  keepingFocus(byId("results"), () => {
    output.begin();
    preview?.clear();
  });
});
session.ended.listen((answer) => {
  output.show(answer);
  if (answer.kind === "ran") showResult(answer);
});

preview?.said.listen(({ isUncaught, text, place }) => {
  const content = place === null ? undefined : submitted.files.find((file) => file.path === place.file)?.content;
  // What was edited since has other lines.
  if (!isUncaught || place === null || workspace.content(place.file) !== content) return;
  const { file: path, line, column } = place;
  editor.addMark({ path, line, column, severity: "error", message: text });
});

new Embedding({ config, parameters, workspace, session, editor, edits, preview, setReadOnly });
new Menu({ config, workspace, edits, notice, files });
if (parameters.run === "load" && preview?.hungBefore !== true) void session.start();

function showResult(result: RunResult): void {
  const { entryFile, files, stdin } = submitted;
  editor.mark(marksOf(config.language, result, sources));
  if (result.stdout !== "") preview?.show(result.stdout, { entryFile, paths: files.map((file) => file.path) });
  input.ask(needsInput({ language: config.language, result, stdin, files }));
}
