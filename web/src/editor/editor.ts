// The code editor: one view, and a state for each file with its own history.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, foldKeymap, indentOnInput, indentUnit } from "@codemirror/language";
import { Compartment, EditorState, Prec, type Extension, type TransactionSpec } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  gutter,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";

import type { LanguageSettings, Parameters } from "../config";
import { element } from "../dom";
import { Event } from "../event";
import { learn, t } from "../messages";
import type { Reader } from "../store/reader";
import type { Workspace } from "../workspace";
import { grammarOf } from "./languages";
import { leaving } from "./leaving";
import { pointAt, pointedLines } from "./lines";
import { overtyping } from "./overtype";
import { theme } from "./theme";

export interface EditorOptions {
  workspace: Workspace;
  parameters: Parameters;
  /** Wraps lines, and has the size of the font. */
  reader: Reader;
  settings: LanguageSettings;
  nonce: string;
  parent: HTMLElement;
  /** The grammar of the first file, so that the code has its colours at once and is drawn once. */
  grammar: Extension;
  /** Ctrl-Enter or Cmd-Enter. */
  onRun: () => void;
  /** Ctrl-F or Cmd-F, until search is loaded. */
  onSearch: () => void;
  /** Shift-Alt-F. */
  onFormat: () => void;
  /** A change of locked lines was refused. */
  onRefused: () => void;
  /** A grammar could not be loaded. */
  onLost: () => void;
}

export class Editor {
  /** The code got or lost the focus, or became read-only or editable. */
  readonly focusChanged = new Event<void>();
  /** Whether a character was typed, and nothing was changed, selected or run since. */
  hasJustTyped = false;

  private readonly view: EditorView;
  private readonly states = new Map<string, EditorState>();
  private readonly readOnly = new Compartment();
  private readonly lines = new Compartment();
  /** Loaded when a file has locked lines. Until then, such a file cannot be changed at all. */
  private locking: typeof import("./locked") | null = null;
  private readonly wrapping = new Compartment();
  private readonly grammar = new Compartment();
  private readonly support = new Compartment();
  /** The part of `support` that every file has; the part of its language comes with its grammar. */
  private supportOfAll: Extension;
  private supportOf: ((path: string) => Promise<Extension>) | null = null;
  private isReadOnly: boolean;
  private shown: string;
  /** Describes the locked lines to screen readers. */
  private readonly locks = element("p", { id: "locked-lines", hidden: "" });
  private readonly options: EditorOptions;

  constructor(options: EditorOptions) {
    this.options = options;
    const { workspace, parent, parameters } = options;
    this.isReadOnly = parameters.readonly;
    this.shown = workspace.active;
    const search = { key: "Mod-f", run: () => (options.onSearch(), true) };
    // As wide as the gutter of marks, so that nothing moves when that is loaded.
    this.supportOfAll = [gutter({ class: "cm-gutter-lint" }), keymap.of([search])];
    this.view = new EditorView({ state: this.stateOf(this.shown, options.grammar), parent });
    parent.append(this.locks);
    if (workspace.files.some(({ locked }) => locked !== undefined)) void this.load(this.shown);
    // It keeps its history.
    workspace.renamed.listen(({ from, to }) => {
      const state = from === this.shown ? this.view.state : this.states.get(from);
      if (state !== undefined) this.states.set(to, state);
    });
    workspace.filesChanged.listen(() => this.showActive());
    workspace.replaced.listen(() => this.forgetStates());
    options.reader.changed.listen(() => this.followReader());
  }

  focus(): void {
    this.view.focus();
  }

  setReadOnly(isReadOnly: boolean): void {
    this.isReadOnly = isReadOnly;
    this.restrict();
    this.focusChanged.emit();
  }

  /**
   * Adds the extensions that are loaded later: for every file, and for each file. Resolves when the file that is
   * shown has them, or when they could not be loaded.
   */
  extend(all: Extension, of: (path: string) => Promise<Extension>): Promise<void> {
    this.supportOfAll = all;
    this.supportOf = of;
    const change = { effects: this.support.reconfigure(all) };
    for (const [path, state] of this.states) this.states.set(path, state.update(change).state);
    this.view.dispatch(change);
    return this.load(this.shown);
  }

  /** Tries again to load the grammar. */
  retry(): void {
    void this.load(this.shown);
  }

  /** Loads what locks lines, if a file needs it. Until then, such a file cannot be changed. */
  async loadLocks(): Promise<void> {
    if (this.locking !== null || this.options.workspace.files.every(({ locked }) => locked === undefined)) return;
    // With the words that it has.
    [this.locking] = await Promise.all([import("./locked"), learn()]);
    this.restrict();
  }

  /** Whether the file has been shown, or changed by `change`. */
  hasOpened(path: string): boolean {
    return this.states.has(path);
  }

  /** Changes the state of a file, whether it is shown or not. */
  change(path: string, spec: (state: EditorState) => TransactionSpec): void {
    if (path === this.shown) return this.view.dispatch(spec(this.view.state));
    if (this.options.workspace.content(path) === undefined) return;
    const state = this.stateOf(path);
    this.states.set(path, state.update(spec(state)).state);
  }

  /** Executes a command of the editor. */
  command(act: (view: EditorView) => void): void {
    act(this.view);
  }

  /** Points at lines of a file; an empty list removes the pointers. */
  point(path: string, lines: readonly number[]): void {
    this.change(path, () => pointAt(lines));
  }

  /** The height of all of the code, in CSS pixels. */
  get contentHeight(): number {
    return this.view.contentHeight;
  }

  /** Moves the cursor to a place, and the focus to the editor. */
  jump(path: string, line: number, column: number): void {
    const { workspace } = this.options;
    workspace.show(path);
    // It is hidden, or gone.
    if (workspace.active !== path) return;
    const { state } = this.view;
    const target = state.doc.line(Math.min(Math.max(line, 1), state.doc.lines));
    const at = Math.min(target.from + Math.max(column - 1, 0), target.to);
    this.view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
    this.view.focus();
  }

  /** The file that is shown. */
  get state(): EditorState {
    return this.view.state;
  }

  /** Whether the file that is shown cannot be changed. */
  get isLocked(): boolean {
    return this.view.state.readOnly;
  }

  /** Whether the editor has the focus and is not read-only. */
  get canType(): boolean {
    return this.view.hasFocus && !this.isLocked;
  }

  private showActive(): void {
    const { workspace } = this.options;
    this.states.set(this.shown, this.view.state);
    const gone = [...this.states.keys()].filter((path) => workspace.content(path) === undefined);
    for (const path of gone) this.states.delete(path);
    if (this.shown === workspace.active) return;
    this.shown = workspace.active;
    this.view.setState(this.stateOf(this.shown));
    this.setReadOnly(this.isReadOnly);
    this.followReader();
    void this.load(this.shown);
  }

  private followReader(): void {
    this.view.dispatch({ effects: this.wrapping.reconfigure(this.wrap()) });
    // The font may have another size.
    this.view.requestMeasure();
  }

  private describeLocks(): void {
    const words = this.locking?.lockedWords(this.view.state) ?? "";
    if (this.locks.textContent !== words) this.locks.textContent = words;
  }

  private wrap(): Extension {
    return this.options.reader.wrap ? EditorView.lineWrapping : [];
  }

  private forgetStates(): void {
    this.states.clear();
    this.shown = this.options.workspace.active;
    this.view.setState(this.stateOf(this.shown));
    this.describeLocks();
    void this.load(this.shown);
  }

  private stateOf(path: string, grammar: Extension = []): EditorState {
    const known = this.states.get(path);
    if (known !== undefined) return known;
    const state = EditorState.create({
      doc: this.options.workspace.content(path) ?? "",
      extensions: [this.grammar.of(grammar), this.extensions(), this.readOnly.of(this.readOnlyOf(path)), this.lines.of(this.linesOf(path))],
    });
    this.states.set(path, state);
    return state;
  }

  private linesOf(path: string): Extension {
    const { workspace, onRefused } = this.options;
    const locked = workspace.locked(path);
    if (this.locking === null || typeof locked !== "string") return [];
    return this.locking.lockedLines(locked, workspace.content(path) ?? "", onRefused);
  }

  /** Has the file that is shown be as locked as it should. */
  private restrict(): void {
    const path = this.shown;
    this.view.dispatch({
      effects: [this.readOnly.reconfigure(this.readOnlyOf(path)), this.lines.reconfigure(this.linesOf(path))],
    });
    this.describeLocks();
  }

  private readOnlyOf(path: string): Extension {
    const locked = this.options.workspace.locked(path);
    const isLocked = this.isReadOnly || locked === true || (locked !== undefined && this.locking === null);
    // It keeps the focus, for selecting and searching, but opens no keyboard on a phone.
    return isLocked ? [EditorState.readOnly.of(true), EditorView.contentAttributes.of({ inputmode: "none" })] : [];
  }

  private async load(path: string): Promise<void> {
    try {
      await this.loadLocks();
      const grammar = (await grammarOf(path, this.options.settings)) ?? [];
      // Before the grammar, which it may replace.
      const more = (await this.supportOf?.(path)) ?? [];
      if (this.shown === path) this.view.dispatch({ effects: this.grammar.reconfigure([more, grammar]) });
    } catch {
      this.options.onLost();
    }
  }

  private extensions(): Extension {
    const { parameters, nonce, onFormat, onRun, workspace } = this.options;
    const run = { key: "Mod-Enter", run: () => ((this.hasJustTyped = false), onRun(), true) };
    return [
      EditorView.cspNonce.of(nonce),
      // The marks are left of the numbers. Completion has a key of Run, too, which comes first.
      this.support.of(this.supportOfAll),
      // Before the default, which would insert a line.
      Prec.highest(keymap.of([run, { key: "Shift-Alt-f", run: () => (onFormat(), true) }])),
      parameters.lineNumbers ? [lineNumbers(), highlightActiveLineGutter()] : [],
      this.wrapping.of(this.wrap()),
      EditorState.tabSize.of(parameters.tabSize),
      indentUnit.of(" ".repeat(parameters.tabSize)),
      pointedLines,
      highlightSpecialChars(),
      history(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      overtyping,
      highlightActiveLine(),
      keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap, indentWithTab]),
      leaving,
      EditorView.contentAttributes.of(() => ({
        // By this alone axe knows that the scrolling element contains one that can have the focus.
        tabindex: "0",
        "aria-label": t("start.code-of", { path: this.shown }),
        "aria-describedby": "keys locked-lines",
        autocapitalize: "off",
        spellcheck: "false",
      })),
      EditorView.updateListener.of((update) => {
        if (update.focusChanged) this.focusChanged.emit();
        if (update.docChanged || update.selectionSet) {
          this.hasJustTyped = update.transactions.some((one) => one.isUserEvent("input.type"));
        }
        if (!update.docChanged) return;
        workspace.setContent(this.shown, update.state.doc.toString(), this.locking?.lockedNow(update.state));
        this.describeLocks();
      }),
      theme,
    ];
  }
}
