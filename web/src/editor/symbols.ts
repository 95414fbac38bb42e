// A bar of the characters that the keyboard of a phone hides, below the code
// while it is typed in. CSS shows it on touch screens alone.

import { insertBracket } from "@codemirror/autocomplete";
import { indentMore } from "@codemirror/commands";
import type { EditorView } from "@codemirror/view";

import { byId, element } from "../dom";
import { endingOf, type Workspace } from "../workspace";
import type { Editor } from "./editor";

const ALL = "{}()[];:\"'=<>+-*/%!&|_#$.,\\";

/** What a kind of file needs most, by the ending of its name; the rest follows. */
const FIRST: ReadonlyMap<string, string> = new Map(Object.entries({
  py: "()[]:\"'=_#{}",
  c: "(){};\"*&<>#[]",
  h: "(){};\"*&<>#[]",
  cpp: "(){};:<>\"&*#[]",
  java: "(){};\".=[]<>",
  cs: "(){};\".=[]<>$",
  php: "$(){};'\"->=[]",
  sql: "();'=,*_%<>",
  html: "<>/=\"!-&{}():;",
  vue: "<>/=\"{}():@'",
  css: "{}:;#.-()%",
  json: "{}[]\":,",
}));

export class SymbolBar {
  private readonly bar = byId("symbols");
  private readonly editor: Editor;
  private readonly workspace: Workspace;
  private shown = "";

  constructor(editor: Editor, workspace: Workspace) {
    this.editor = editor;
    this.workspace = workspace;
    // The focus stays in the code, and with it the keyboard of the phone.
    for (const type of ["pointerdown", "mousedown"]) this.bar.addEventListener(type, (event) => event.preventDefault());
    editor.focusChanged.listen(() => this.follow());
    workspace.filesChanged.listen(() => this.follow());
    this.follow();
  }

  private follow(): void {
    this.bar.hidden = !this.editor.canType;
    const symbols = symbolsOf(this.workspace.active);
    if (symbols === this.shown) return;
    this.shown = symbols;
    const tab = this.key("Tab", () => this.editor.command(indentMore));
    this.bar.replaceChildren(tab, ...[...symbols].map((symbol) => this.key(symbol, () => this.editor.command((view) => type(view, symbol)))));
  }

  private key(label: string, act: () => void): HTMLElement {
    // Not reached by Tab: who has that key has the others.
    const key = element("button", { type: "button", tabindex: "-1" }, label);
    key.addEventListener("click", act);
    return key;
  }
}

/** The symbols for the file at `path`, each once. */
function symbolsOf(path: string): string {
  const first = FIRST.get(endingOf(path)) ?? "";
  return [...new Set(first + ALL)].join("");
}

/** As a key would, with the other one of a pair. */
function type(view: EditorView, character: string): void {
  const { state } = view;
  if (state.readOnly) return;
  const plain = () => state.update(state.replaceSelection(character), { userEvent: "input.type", scrollIntoView: true });
  view.dispatch(insertBracket(state, character) ?? plain());
}
