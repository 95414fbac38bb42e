// Marks beside the code: what compilers, programs and pages complain of.

import { forEachDiagnostic, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import type { EditorState } from "@codemirror/state";

import type { Workspace } from "../workspace";
import type { Editor } from "./editor";

/** More on a file than anybody reads. */
const MOST = 100;

/** Something to say about a line of a file. */
export interface Mark {
  path: string;
  /** From 1. */
  line: number;
  /** From 1; 0 where only the line is known. */
  column: number;
  severity: "error" | "warning";
  message: string;
}

export class Marks {
  private readonly editor: Editor;
  private readonly workspace: Workspace;

  constructor(editor: Editor, workspace: Workspace) {
    this.editor = editor;
    this.workspace = workspace;
  }

  /** Shows marks in the gutter of their files; those of before go. */
  show(marks: readonly Mark[]): void {
    for (const path of this.workspace.files.map((file) => file.path)) {
      const own = marks.filter((mark) => mark.path === path);
      if (own.length === 0 && !this.editor.hasOpened(path)) continue;
      this.editor.change(path, (state) => setDiagnostics(state, diagnostics(state, own)));
    }
  }

  /** Shows one mark more, unless it is there or there are many. */
  add(mark: Mark): void {
    this.editor.change(mark.path, (state) => {
      const all = diagnostics(state, [mark]);
      let count = 0;
      forEachDiagnostic(state, (known, from, to) => {
        count += 1;
        if (known.message === mark.message && from === all[0]?.from) count = MOST;
        all.push({ ...known, from, to });
      });
      return count < MOST ? setDiagnostics(state, all) : {};
    });
  }
}

function diagnostics(state: EditorState, marks: readonly Mark[]): Diagnostic[] {
  return marks.map(({ line, column, severity, message }) => {
    const target = state.doc.line(Math.min(Math.max(line, 1), state.doc.lines));
    // Where only the line is known: all of it but its indentation.
    const start = column > 0 ? column - 1 : target.text.search(/\S|$/);
    const from = Math.min(target.from + start, target.to);
    const word = column > 0 ? state.wordAt(from) : null;
    return { from, to: word?.to ?? target.to, severity, message };
  });
}
