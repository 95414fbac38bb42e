// The part of the page that typing does not need: runs, their output and marks,
// the preview, the menu, and the messages of the embedding page. It is loaded
// after the editor.

import { openSearchPanel } from "@codemirror/search";

import type { PageConfig, Parameters } from "./config";
import { byId, keepingFocus } from "./dom";
import type { Editor } from "./editor/editor";
import { Marks } from "./editor/marks";
import { support, supportOf } from "./editor/support";
import { SymbolBar } from "./editor/symbols";
import { Sources, marksOf, needsInput } from "./errors";
import type { FileTabs } from "./files/tabs";
import { OutputPanel } from "./output/panel";
import { linked, tables } from "./output/render";
import { Embedding } from "./parent/embedding";
import type { EarlyMessages } from "./parent/early-messages";
import type { Preview } from "./preview/preview";
import { RunButton } from "./run/button";
import type { RunResult } from "./run/client";
import type { InputBox } from "./run/input";
import { Session } from "./run/session";
import { askForInput } from "./run/words";
import { Menu } from "./share/menu";
import type { Edits } from "./store/edits";
import type { Notice } from "./store/notice";
import type { Snapshot, Workspace } from "./workspace";

/** The parts that are loaded before. */
export interface Parts {
  config: PageConfig;
  parameters: Parameters;
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
  menu(): void;
  /** The menu, from its last item. */
  menuEnd(): void;
}

/** Makes the rest of the page; starts nothing unless all of it could be loaded. */
export async function complete(parts: Parts): Promise<Page> {
  const { config, parameters, workspace, editor } = parts;
  const preview = config.output === "document" ? await previewOf(parts) : null;
  editor.extend(support, (path) => supportOf(path, config.editor));
  const session = new Session(config.language, workspace);
  const output = outputOf(config);
  new RunButton(session, output);
  const marks = new Marks(editor, workspace);
  new Results({ ...parts, session, output, preview, marks });
  new Embedding({ ...parts, session, marks, preview });
  const menu = new Menu(parts);
  new SymbolBar(editor, workspace, config.editor);
  if (parameters.run === "load" && preview?.hungBefore !== true) void session.start();
  return {
    run: () => void session.start(),
    search: () => editor.command(openSearchPanel),
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

function outputOf(config: PageConfig): OutputPanel {
  const output = new OutputPanel();
  if (config.output === "tables") output.renderStdout = tables;
  output.isDocument = config.output === "document";
  return output;
}

interface ResultsOptions extends Parts {
  session: Session;
  output: OutputPanel;
  preview: Preview | null;
  marks: Marks;
}

/** Shows the results of runs. */
class Results {
  private readonly options: ResultsOptions;
  /** The program of the run: the person may have typed since. */
  private submitted: Snapshot;
  private sources: Sources;

  constructor(options: ResultsOptions) {
    this.options = options;
    const { config, workspace, session, output, preview, marks, editor } = options;
    this.submitted = workspace.snapshot();
    this.sources = new Sources(this.submitted.entryFile, this.submitted.files);
    const onJump = (path: string, line: number, column: number) => editor.jump(path, line, column);
    output.renderStderr = linked({ messages: config.editor.messages, sources: () => this.sources, onJump });
    session.started.listen(() => {
      this.submitted = workspace.snapshot();
      this.sources = new Sources(this.submitted.entryFile, this.submitted.files);
      marks.show([]);
      keepingFocus(byId("results"), () => {
        output.begin();
        preview?.clear();
      });
    });
    session.ended.listen((answer) => {
      output.show(answer);
      if (answer.kind === "ran") this.show(answer);
    });
    preview?.received.listen(({ isUncaught, text, place }) => {
      const { files } = this.submitted;
      const content = place === null ? undefined : files.find((file) => file.path === place.file)?.content;
      // A file that was edited since has other lines.
      if (!isUncaught || place === null || workspace.content(place.file) !== content) return;
      const { file: path, line, column } = place;
      marks.add({ path, line, column, severity: "error", message: text });
    });
  }

  private show(result: RunResult): void {
    const { config, marks, preview, input } = this.options;
    const { entryFile, files, stdin } = this.submitted;
    marks.show(marksOf(config.editor.messages, result, this.sources));
    // Without a document, the errors take its place.
    if (preview !== null) byId("page").hidden = result.stdout === "";
    if (result.stdout !== "") preview?.show(result.stdout, { entryFile, paths: files.map((file) => file.path) });
    const need = needsInput({ input: config.editor.input, result, stdin, files });
    input.ask(need === null ? null : askForInput(need));
  }
}
