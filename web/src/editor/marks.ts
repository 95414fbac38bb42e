// Marks beside the code for the errors of compilers, programs and pages.

import { forEachDiagnostic, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import type { EditorState } from "@codemirror/state";

import { Event } from "../event";
import type { Workspace } from "../workspace";
import type { Editor } from "./editor";

/** Marks of one file. Nobody reads more. */
const MAX_MARKS = 100;

/** A message about a line of a file. */
export interface Mark {
  path: string;
  /** From 1. */
  line: number;
  /** From 1; 0 if only the line is known. */
  column: number;
  severity: "error" | "warning";
  message: string;
}

export class Marks {
  /** The files that have errors may be others. */
  readonly errorsChanged = new Event<ReadonlySet<string>>();
  private readonly editor: Editor;
  private readonly workspace: Workspace;
  private withErrors: ReadonlySet<string> = new Set();

  constructor(editor: Editor, workspace: Workspace) {
    this.editor = editor;
    this.workspace = workspace;
  }

  /** Shows marks in the gutters of their files, in place of earlier ones. */
  show(marks: readonly Mark[]): void {
    for (const path of this.workspace.files.map((file) => file.path)) {
      const own = marks.filter((mark) => mark.path === path);
      if (own.length === 0 && !this.editor.hasOpened(path)) continue;
      this.editor.change(path, (state) => setDiagnostics(state, diagnostics(state, own)));
    }
    this.report(marks);
  }

  /** Adds a mark, unless it exists or there are too many. */
  add(mark: Mark): void {
    this.editor.change(mark.path, (state) => {
      const all = diagnostics(state, [mark]);
      let count = 0;
      forEachDiagnostic(state, (known, from, to) => {
        count += 1;
        if (known.message === mark.message && from === all[0]?.from) count = MAX_MARKS;
        all.push({ ...known, from, to });
      });
      return count < MAX_MARKS ? setDiagnostics(state, all) : {};
    });
    this.report([mark], this.withErrors);
  }

  private report(marks: readonly Mark[], earlier: Iterable<string> = []): void {
    const errors = marks.filter(({ severity }) => severity === "error");
    this.withErrors = new Set([...earlier, ...errors.map(({ path }) => path)]);
    this.errorsChanged.emit(this.withErrors);
  }
}

function diagnostics(state: EditorState, marks: readonly Mark[]): Diagnostic[] {
  return marks.map(({ line, column, severity, message }) => {
    const target = state.doc.line(Math.min(Math.max(line, 1), state.doc.lines));
    // If only the line is known: all of it but its indentation.
    const start = column > 0 ? column - 1 : target.text.search(/\S|$/);
    const from = Math.min(target.from + start, target.to);
    const word = column > 0 ? state.wordAt(from) : null;
    return { from, to: word?.to ?? target.to, severity, message };
  });
}
