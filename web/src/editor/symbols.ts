// A bar with the characters that the keyboard of a phone hides, below the code
// while a person types. CSS shows it only on touch screens.

import { insertBracket } from "@codemirror/autocomplete";
import { indentMore } from "@codemirror/commands";
import type { EditorView } from "@codemirror/view";

import type { LanguageSettings } from "../config";
import { byId, element } from "../dom";
import { t } from "../messages";
import { endingOf, type Workspace } from "../workspace";
import type { Editor } from "./editor";

const ALL = "{}()[];:\"'=<>+-*/%!&|_#$.,\\";

/** The symbols that come first for files of several languages, by the ending of the name; the others follow. */
const FIRST: ReadonlyMap<string, string> = new Map(Object.entries({
  c: "(){};\"*&<>#[]",
  h: "(){};\"*&<>#[]",
  html: "<>/=\"!-&{}():;",
  css: "{}:;#.-()%",
  json: "{}[]\":,",
}));

interface SymbolOptions {
  settings: LanguageSettings;
  /** Opens the search, for which a phone has no key. */
  find: () => void;
}

export class SymbolBar {
  private readonly bar = byId("symbols");
  private readonly editor: Editor;
  private readonly workspace: Workspace;
  private readonly options: SymbolOptions;
  private shown = "";

  constructor(editor: Editor, workspace: Workspace, options: SymbolOptions) {
    this.editor = editor;
    this.options = options;
    this.workspace = workspace;
    // The code keeps the focus, so the keyboard of the phone stays open.
    for (const type of ["pointerdown", "mousedown"]) this.bar.addEventListener(type, (event) => event.preventDefault());
    editor.focusChanged.listen(() => this.follow());
    workspace.filesChanged.listen(() => this.follow());
    this.follow();
  }

  private follow(): void {
    this.bar.hidden = !this.editor.canType;
    const symbols = symbolsOf(this.workspace.active, this.options.settings);
    if (symbols === this.shown) return;
    this.shown = symbols;
    const tab = this.key(t("editor.tab"), () => this.editor.command(indentMore));
    const find = this.key(t("editor.find"), () => this.options.find());
    this.bar.replaceChildren(tab, find, ...[...symbols].map((symbol) => this.key(symbol, () => this.editor.command((view) => type(view, symbol)))));
  }

  private key(label: string, act: () => void): HTMLElement {
    // Not reached by Tab: a keyboard with that key has the others too.
    const key = element("button", { type: "button", tabindex: "-1" }, label);
    key.addEventListener("click", act);
    return key;
  }
}

/** The symbols for the file at `path`, each once. */
function symbolsOf(path: string, { symbols = "", extensions }: LanguageSettings): string {
  const ending = endingOf(path);
  const first = FIRST.get(ending) ?? (extensions.includes(ending) ? symbols : "");
  return [...new Set(first + ALL)].join("");
}

/** Types a character as a key would, with the closing bracket or quote. */
function type(view: EditorView, character: string): void {
  const { state } = view;
  if (state.readOnly) return;
  const plain = () => state.update(state.replaceSelection(character), { userEvent: "input.type", scrollIntoView: true });
  view.dispatch(insertBracket(state, character) ?? plain());
}
