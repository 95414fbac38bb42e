// Formats the file that is shown: those of the web in the page itself, others by a
// program of their language, which is an ordinary run.

import { isolateHistory } from "@codemirror/commands";
import type { ChangeSpec } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";

import type { PageConfig, Parameters } from "../config";
import type { Editor } from "../editor/editor";
import { grammarName } from "../editor/languages";
import type { Marks } from "../editor/marks";
import { Later } from "../later";
import { t } from "../messages";
import type { Notice } from "../store/notice";
import { endingOf, type Workspace } from "../workspace";
import { Fault } from "./fault";

export interface FormatterOptions {
  config: PageConfig;
  parameters: Parameters;
  workspace: Workspace;
  editor: Editor;
  marks: Marks;
  notice: Notice;
}

type Format = (path: string, source: string) => Promise<string>;

/** The parser of Prettier for each grammar; JavaScript's depends on the ending. */
const PARSERS: ReadonlyMap<string, string> = new Map(Object.entries({ css: "css", html: "html", vue: "vue", json: "json" }));
/** In characters: more would take seconds. */
const MAX_LENGTH = 200_000;

export class Formatter {
  private readonly options: FormatterOptions;
  private readonly prettier = new Later(() => import("./prettier"));
  private readonly program = new Later(() => import("./program"));
  private readonly changes = new Later(() => import("./changes"));

  constructor(options: FormatterOptions) {
    this.options = options;
  }

  /** Whether the file that is shown can be formatted. */
  get isPossible(): boolean {
    return this.formatOf(this.options.workspace.active) !== null && !this.options.editor.isLocked;
  }

  /** Formats the file that is shown, in one step, or says why not. */
  async format(): Promise<void> {
    const { editor, marks, notice, workspace } = this.options;
    const path = workspace.active;
    const { doc, selection } = editor.state;
    const source = doc.toString();
    const format = this.formatOf(path);
    if (format === null) return notice.show(t("format.kind"));
    if (doc.length > MAX_LENGTH) return notice.show(t("format.too-large"));
    try {
      await editor.loadLocks();
      if (editor.isLocked) return notice.show(t("format.read-only"));
      const [text, { changesTo, moved }] = await Promise.all([format(path, source), this.changes.get()]);
      if (editor.state.doc !== doc || workspace.active !== path) return notice.show(t("format.changed"));
      if (text === source) return notice.show(t("format.already"));
      if (text.length > MAX_LENGTH) return notice.show(t("format.too-large"));
      const cursor = moved(source, selection.main.head, text);
      editor.command((view) => notice.show(apply(view, changesTo(doc, text), cursor)));
    } catch (error) {
      if (!(error instanceof Fault)) return notice.show(t("format.lost"));
      const { place, message } = error;
      if (place === null) return notice.show(message);
      marks.add({ path, ...place, severity: "error", message });
      notice.show(t("format.unreadable", { line: place.line }));
    }
  }

  /** The formatter of a file; `null` if there is none. */
  private formatOf(path: string): Format | null {
    const { config, parameters } = this.options;
    const { formatter, extensions } = config.editor;
    if (formatter !== undefined && extensions.includes(endingOf(path))) {
      return async (...file) => (await this.program.get()).formatByRun(config, formatter, ...file);
    }
    const parser = parserOf(grammarName(path, config.editor), path);
    if (parser === null) return null;
    return async (_, source) => (await this.prettier.get()).formatByPrettier(parser, parameters.tabSize, source);
  }
}

function parserOf(grammar: string | null, path: string): string | null {
  if (grammar === "javascript") return /^tsx?$/.test(endingOf(path)) ? "babel-ts" : "babel";
  return grammar === null ? null : (PARSERS.get(grammar) ?? null);
}

/** Changes the text in one step, which undo takes back. Returns the words about it. */
function apply(view: EditorView, changes: ChangeSpec[], cursor: number): string {
  const before = view.state.doc;
  view.dispatch({
    changes,
    selection: { anchor: cursor },
    userEvent: "input.format",
    annotations: isolateHistory.of("full"),
    scrollIntoView: true,
  });
  return t(view.state.doc === before ? "format.locked-lines" : "format.done");
}
