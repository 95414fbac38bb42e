// The code editor: one view, and a state for each file with its own history.

import { closeBrackets, closeBracketsKeymap, completionKeymap, insertBracket } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentMore, indentWithTab } from "@codemirror/commands";
import { bracketMatching, foldKeymap, indentOnInput, indentUnit } from "@codemirror/language";
import { forEachDiagnostic, lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, Prec, type Extension } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";

import type { Parameters } from "../config";
import { Event } from "../event";
import type { Workspace } from "../workspace";
import { completion } from "./completion";
import { grammarOf } from "./languages";
import { pointAt, pointedLines } from "./lines";
import { overtyping } from "./overtype";
import { theme } from "./theme";

/** More on a file than anybody reads. */
const MOST_MARKS = 100;

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

export interface EditorOptions {
  workspace: Workspace;
  /** What the page is for: some files are of the language that runs them. */
  language: string;
  parameters: Parameters;
  nonce: string;
  parent: HTMLElement;
  /** Of the file that is shown first: with it the code has its colours at once, and is drawn once. */
  grammar: Extension;
  /** Ctrl-Enter or Cmd-Enter. */
  onRun: () => void;
}

export class Editor {
  /** The code got or lost the focus, or was locked or unlocked. */
  readonly focusChanged = new Event<void>();

  private readonly view: EditorView;
  private readonly states = new Map<string, EditorState>();
  private readonly readOnly = new Compartment();
  private readonly grammar = new Compartment();
  private isReadOnly: boolean;
  private shown: string;
  private readonly options: EditorOptions;

  constructor(options: EditorOptions) {
    this.options = options;
    const { workspace, parent, parameters } = options;
    this.isReadOnly = parameters.readonly;
    this.shown = workspace.active;
    this.view = new EditorView({ state: this.stateOf(this.shown, options.grammar), parent });
    workspace.filesChanged.listen(() => this.showActive());
    workspace.replaced.listen(() => this.forgetStates());
  }

  focus(): void {
    this.view.focus();
  }

  setReadOnly(isReadOnly: boolean): void {
    this.isReadOnly = isReadOnly;
    this.view.dispatch({ effects: this.readOnly.reconfigure(readOnlyExtension(isReadOnly)) });
    this.focusChanged.emit();
  }

  /** Shows marks in the gutter of their files; those of before go. */
  mark(marks: readonly Mark[]): void {
    for (const path of this.options.workspace.files.map((file) => file.path)) {
      const own = marks.filter((mark) => mark.path === path);
      if (path === this.shown) {
        this.view.dispatch(setDiagnostics(this.view.state, diagnostics(this.view.state, own)));
      } else if (own.length > 0 || this.states.has(path)) {
        const state = this.stateOf(path);
        this.states.set(path, state.update(setDiagnostics(state, diagnostics(state, own))).state);
      }
    }
  }

  /** Shows one mark more, unless it is there or there are many. */
  addMark(mark: Mark): void {
    const { path, message } = mark;
    if (this.options.workspace.content(path) === undefined) return;
    const state = path === this.shown ? this.view.state : this.stateOf(path);
    const all = diagnostics(state, [mark]);
    let count = 0;
    forEachDiagnostic(state, (known, from, to) => {
      count += 1;
      if (known.message === message && from === all[0]?.from) count = MOST_MARKS;
      all.push({ ...known, from, to });
    });
    if (count >= MOST_MARKS) return;
    const change = setDiagnostics(state, all);
    if (path === this.shown) this.view.dispatch(change);
    else this.states.set(path, state.update(change).state);
  }

  /** Points at lines of a file; none takes the pointers away. */
  point(path: string, lines: readonly number[]): void {
    if (path === this.shown) return this.view.dispatch(pointAt(this.view.state, lines));
    if (this.options.workspace.content(path) === undefined) return;
    this.states.set(path, pointAt(this.stateOf(path), lines).state);
  }

  /** How high all of its code is, in CSS pixels. */
  get contentHeight(): number {
    return this.view.contentHeight;
  }

  /** Puts the cursor there and takes the focus: the person asked for it. */
  jump(path: string, line: number, column: number): void {
    this.options.workspace.show(path);
    const { state } = this.view;
    const target = state.doc.line(Math.min(Math.max(line, 1), state.doc.lines));
    const at = Math.min(target.from + Math.max(column - 1, 0), target.to);
    this.view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
    this.view.focus();
  }

  /** Whether the person is typing here, or could. */
  get canType(): boolean {
    return this.view.hasFocus && !this.isReadOnly;
  }

  /** Types a character at the cursor as a key would, for those that a touch screen lacks. */
  type(character: string): void {
    const { state } = this.view;
    if (state.readOnly) return;
    const plain = () => state.update(state.replaceSelection(character), { userEvent: "input.type", scrollIntoView: true });
    this.view.dispatch(insertBracket(state, character) ?? plain());
  }

  /** What the Tab key does. */
  indent(): void {
    indentMore(this.view);
  }

  private showActive(): void {
    const { workspace } = this.options;
    this.states.set(this.shown, this.view.state);
    const gone = [...this.states.keys()].filter((path) => workspace.content(path) === undefined);
    // A renamed file keeps its history: the view still shows it.
    const isRenamed = workspace.content(this.shown) === undefined;
    const sameText = workspace.content(workspace.active) === this.view.state.doc.toString();
    for (const path of gone) this.states.delete(path);
    if (this.shown === workspace.active) return;
    this.shown = workspace.active;
    if (isRenamed && sameText) this.states.set(this.shown, this.view.state);
    this.view.setState(this.stateOf(this.shown));
    this.setReadOnly(this.isReadOnly);
    void this.loadGrammar(this.shown);
  }

  private forgetStates(): void {
    this.states.clear();
    this.shown = this.options.workspace.active;
    this.view.setState(this.stateOf(this.shown));
    void this.loadGrammar(this.shown);
  }

  private stateOf(path: string, grammar: Extension = []): EditorState {
    const known = this.states.get(path);
    if (known !== undefined) return known;
    const state = EditorState.create({
      doc: this.options.workspace.content(path) ?? "",
      extensions: [this.grammar.of(grammar), this.extensions()],
    });
    this.states.set(path, state);
    return state;
  }

  private async loadGrammar(path: string): Promise<void> {
    const extension = await grammarOf(path, this.options.language);
    if (this.shown === path) this.view.dispatch({ effects: this.grammar.reconfigure(extension) });
  }

  private extensions(): Extension {
    const { parameters, nonce, onRun, workspace } = this.options;
    const run = { key: "Mod-Enter", run: () => (onRun(), true) };
    return [
      EditorView.cspNonce.of(nonce),
      // Before the default, which would insert a line.
      Prec.highest(keymap.of([run])),
      this.readOnly.of(readOnlyExtension(this.isReadOnly)),
      // The marks are left of the numbers.
      lintGutter(),
      parameters.lineNumbers ? [lineNumbers(), highlightActiveLineGutter()] : [],
      parameters.wrap ? EditorView.lineWrapping : [],
      EditorState.tabSize.of(parameters.tabSize),
      indentUnit.of(" ".repeat(parameters.tabSize)),
      pointedLines,
      highlightSpecialChars(),
      history(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      overtyping,
      completion,
      highlightActiveLine(),
      highlightSelectionMatches(),
      keymap.of([
        ...closeBracketsKeymap,
        ...defaultKeymap,
        ...searchKeymap,
        ...historyKeymap,
        ...foldKeymap,
        ...lintKeymap,
        ...completionKeymap,
        indentWithTab,
      ]),
      EditorView.contentAttributes.of(() => ({
        // What scrolls holds something that can have the focus: axe knows it by this alone.
        tabindex: "0",
        "aria-label": `Code, ${this.shown}`,
        "aria-describedby": "keys",
        autocapitalize: "off",
        spellcheck: "false",
      })),
      EditorView.updateListener.of((update) => {
        if (update.focusChanged) this.focusChanged.emit();
        if (update.docChanged) workspace.setContent(this.shown, update.state.doc.toString());
      }),
      theme,
    ];
  }
}

function readOnlyExtension(isReadOnly: boolean): Extension {
  // It keeps the focus, for selecting and searching, but opens no keyboard on a phone.
  return isReadOnly ? [EditorState.readOnly.of(true), EditorView.contentAttributes.of({ inputmode: "none" })] : [];
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
