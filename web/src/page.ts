// The part of the page that typing does not need: runs, their output and marks,
// the preview, the menu, and the messages of the embedding page. It is loaded
// after the editor.

import "./styles/dialog.css";
import "./styles/menu.css";
import "./styles/print.css";
import { openSearchPanel } from "@codemirror/search";

import type { PageConfig, Parameters } from "./config";
import { makeDividers } from "./dividers";
import { byId } from "./dom";
import { offer } from "./editor/completion";
import type { Editor } from "./editor/editor";
import { Marks } from "./editor/marks";
import { Completions } from "./editor/members/completions";
import { support, supportOf } from "./editor/support";
import { SymbolBar } from "./editor/symbols";
import type { FileTabs } from "./files/tabs";
import { Formatter } from "./format/formatter";
import { OutputPanel } from "./output/panel";
import { tables } from "./output/render";
import { Results } from "./output/results";
import { Embedding } from "./parent/embedding";
import type { EarlyMessages } from "./parent/early-messages";
import type { Preview } from "./preview/preview";
import { RunButton } from "./run/button";
import { runOnce } from "./run/held";
import type { InputBox } from "./run/input";
import { Modes } from "./run/modes";
import { CurrentRun } from "./run/current-run";
import { Menu } from "./share/menu";
import type { Edits } from "./store/edits";
import type { Notice } from "./store/notice";
import type { Reader } from "./store/reader";
import { makeSwitcher } from "./switcher";
import type { Workspace } from "./workspace";

/** The parts that are loaded before. */
export interface Parts {
  config: PageConfig;
  parameters: Parameters;
  reader: Reader;
  workspace: Workspace;
  editor: Editor;
  edits: Edits;
  notice: Notice;
  input: InputBox;
  messages: EarlyMessages;
  files: FileTabs;
  /** Locks the code and the list of files. */
  setReadOnly: (isReadOnly: boolean) => void;
}

/** The commands that a person can give before this is loaded. */
export interface Page {
  run(): void;
  search(): void;
  format(): void;
  menu(): void;
  /** The menu, from its last item. */
  menuEnd(): void;
}

/** Makes the rest of the page; starts nothing unless all of it could be loaded. */
export async function complete(parts: Parts): Promise<Page> {
  const { config, parameters, workspace, editor } = parts;
  const preview = config.output === "document" ? await previewOf(parts) : null;
  const completions = config.completions === null ? null : Completions.at(config.completions);
  const extended = editor.extend(support(), (path) => supportOf(path, config.editor, completions));
  // Of a word that was typed before.
  void extended.then(() => editor.hasJustTyped && editor.command(offer));
  const modes = new Modes(config, parameters);
  const currentRun = new CurrentRun(config.language, workspace, (snapshot) => modes.next(snapshot));
  const output = outputOf(config, parts.reader);
  makeDividers(parts.reader);
  makeSwitcher(config.language);
  runOnce();
  addEventListener("storage", ({ key }) => parts.reader.reread(key));
  if (parameters.refresh) workspace.edited.listen(() => preview?.restyle(workspace.snapshot().files));
  new RunButton(currentRun, output);
  const marks = new Marks(editor, workspace);
  marks.errorsChanged.listen((paths) => parts.files.markFaulty(paths));
  new Results({ ...parts, currentRun, modes, output, preview, marks });
  new Embedding({ ...parts, currentRun, marks, preview });
  const find = () => editor.command(openSearchPanel);
  const formatter = new Formatter({ ...parts, marks });
  const menu = new Menu({ ...parts, find, formatter });
  new SymbolBar(editor, workspace, { settings: config.editor, find });
  if (parameters.run === "load" && preview?.hungBefore !== true) void currentRun.start();
  return {
    run: () => void currentRun.start(),
    search: find,
    format: () => void formatter.format(),
    menu: () => menu.open(0),
    menuEnd: () => menu.open(-1),
  };
}

async function previewOf({ config, parameters, editor, edits }: Parts): Promise<Preview> {
  const { Preview } = await import("./preview/preview");
  return new Preview({
    parent: byId("page"),
    url: config.previewUrl,
    hasConsole: !parameters.hide.has("console"),
    // Several editors of one page may have the same key for their edits.
    memoryKey: `${config.language}/${parameters.autosave}/${edits.startKey}`,
    onJump: ({ file, line, column }) => editor.jump(file, line, column),
  });
}

function outputOf(config: PageConfig, reader: Reader): OutputPanel {
  const output = new OutputPanel(reader);
  if (config.output === "tables") output.renderStdout = tables;
  output.isDocument = config.output === "document";
  return output;
}
