// Connects the page to the page that embeds it: executes its commands, and
// reports events to it.

import type { Parameters, PageConfig, ThemeChoice } from "../config";
import type { Editor } from "../editor/editor";
import type { Marks } from "../editor/marks";
import type { Preview } from "../preview/preview";
import { verdictOf } from "../run/expected";
import type { Artifact } from "../run/left";
import type { LiveRun } from "../run/live";
import type { CurrentRun } from "../run/current-run";
import { shareUrl } from "../share/links";
import type { Edits } from "../store/edits";
import type { Reader } from "../store/reader";
import type { Snapshot, Workspace } from "../workspace";
import { Bridge } from "./bridge";
import type { EarlyMessages } from "./early-messages";
import { writeFragment } from "./fragment";
import { watchHeight } from "./height";
import { readHostRequest, report, tellsChanges } from "./onecompiler";
import { PreviewNews, runEnd, VERSION, type Controls } from "./protocol";

const CHANGE_DELAY_MS = 300;

export interface EmbeddingOptions {
  config: PageConfig;
  parameters: Parameters;
  reader: Reader;
  workspace: Workspace;
  currentRun: CurrentRun;
  editor: Editor;
  marks: Marks;
  edits: Edits;
  /** Messages of the embedding page, also those that came before. */
  messages: EarlyMessages;
  /** The preview, if the language makes documents. */
  preview: Preview | null;
  /** Locks the code and the list of files. */
  setReadOnly: (isReadOnly: boolean) => void;
}

export class Embedding {
  private readonly options: EmbeddingOptions;
  private readonly bridge: Bridge;
  private readonly pageId = crypto.getRandomValues(new Uint32Array(2)).join("");
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");
  /** The number of the latest run. */
  private run = 0;
  /** The latest live run. */
  private live: LiveRun | null = null;
  /** Resolves when the latest live run takes input, or has ended. */
  private opened = Promise.resolve();
  private open = () => {};
  /** The files that the last run left. */
  private left: readonly Artifact[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** The theme that the embedding page knows. */
  private theme: "light" | "dark";

  constructor(options: EmbeddingOptions) {
    this.options = options;
    const { config, parameters, messages } = options;
    this.theme = this.themeNow();
    this.bridge = new Bridge({
      surroundings: {
        parent: window.parent === window ? null : window.parent,
        addEventListener: (_, listener) => messages.handTo(listener),
      },
      parentOrigin: parameters.parentOrigin,
      controls: this.controls(),
      about: { version: VERSION, language: config.language, title: config.title },
      onOther: (data) => this.takeOneCompiler(data),
    });
    if (window.parent !== window) this.reportEvents();
  }

  private controls(): Controls {
    const { config, workspace, currentRun, editor, marks, edits, setReadOnly } = this.options;
    return {
      snapshot: () => workspace.snapshot(),
      starter: () => edits.starter,
      replace: (snapshot, hasInput) => this.begin(snapshot, hasInput),
      setStdin: (text) => edits.setStdin(text),
      setExpected: (text) => edits.expect(text),
      run: () => {
        void currentRun.start();
        return this.run;
      },
      stop: () => currentRun.stop(),
      setTheme: (theme) => this.setTheme(theme),
      setReadOnly,
      reset: () => edits.reset(),
      focus: () => editor.focus(),
      markLines: (path, lines) => editor.point(path, lines),
      setDiagnostics: (own) => marks.show(own),
      input: (text) => this.whileOpen((live) => live.send(text)),
      endInput: () => this.whileOpen((live) => live.end()),
      artifact: (path) => this.left.find((artifact) => artifact.path === path) ?? null,
      share: async () => shareUrl(location.href, config.language, await writeFragment(workspace.snapshot())),
    };
  }

  private async whileOpen(act: (live: LiveRun) => Promise<string | null>): Promise<string | null> {
    await this.opened;
    const { live } = this;
    return live?.isOpen === true ? act(live) : "No live run takes input now.";
  }

  private reportEvents(): void {
    const { workspace, currentRun, editor, preview, reader } = this.options;
    const news = new PreviewNews((type, payload) => this.bridge.emit(type, payload));
    preview?.received.listen((message) => news.report(this.run, message, performance.now()));
    workspace.edited.listen(() => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.reportChange(), CHANGE_DELAY_MS);
    });
    // The person may type, and the embedding page send other files, before the run has ended.
    let submitted = workspace.snapshot();
    currentRun.started.listen((mode) => {
      submitted = workspace.snapshot();
      this.run += 1;
      this.live = null;
      this.left = [];
      if (mode.live) this.opened = new Promise((resolve) => (this.open = resolve));
      this.bridge.emit("run:start", { run: this.run });
    });
    currentRun.wentLive.listen(({ live }) => {
      this.live = live;
      this.open();
      live.written.listen(({ stream, text }) => this.bridge.emit("run:output", { run: this.run, stream, text }));
    });
    const reportsChanges = tellsChanges(location.search);
    currentRun.ended.listen((answer) => {
      this.open();
      if (answer.kind === "ran") this.left = answer.left?.artifacts ?? [];
      const { config } = this.options;
      const verdict = config.output === "document" ? null : verdictOf(answer, submitted.expected ?? null);
      this.bridge.emit("run:end", runEnd(this.run, answer, verdict));
      const message = () => report(this.pageId, config.language, submitted, answer);
      if (reportsChanges) this.bridge.sendToParent(message());
    });
    this.dark.addEventListener("change", () => this.reportTheme());
    reader.changed.listen(() => this.reportTheme());
    const listen = (look: () => void) => {
      workspace.edited.listen(look);
      workspace.filesChanged.listen(look);
      addEventListener("resize", look);
    };
    const reportHeight = (height: number) => this.bridge.emit("resize", { height });
    watchHeight({ editor, changed: listen, isBusy: () => currentRun.isBusy, report: reportHeight });
  }

  private reportChange(): void {
    const { config, workspace } = this.options;
    const snapshot = workspace.snapshot();
    this.bridge.emit("change", snapshot);
    if (!tellsChanges(location.search)) return;
    this.bridge.sendToParent(report(this.pageId, config.language, snapshot, null));
  }

  private setTheme(theme: ThemeChoice): void {
    this.options.reader.suggestTheme(theme);
  }

  private reportTheme(): void {
    const theme = this.themeNow();
    if (theme === this.theme) return;
    this.theme = theme;
    this.bridge.emit("theme", { theme });
  }

  private themeNow(): "light" | "dark" {
    const chosen = this.options.reader.theme;
    if (chosen === "light" || chosen === "dark") return chosen;
    return this.dark.matches ? "dark" : "light";
  }

  private takeOneCompiler(data: unknown): void {
    const { config, currentRun, edits } = this.options;
    const request = readHostRequest(data, config, edits.starter);
    if (request === null) return;
    if (request.kind === "run") return void currentRun.start();
    const { value, fault } = request.snapshot;
    if (value === null) return this.bridge.emit("error", { message: fault });
    // Pages send it several times, since they cannot know when the editor is
    // loaded. Edits made meanwhile stay.
    if (!edits.isStart(value)) this.begin(value, request.hasInput);
  }

  /** Begins with another start, and the input of the reader if it has none. */
  private begin(start: Snapshot, hasInput: boolean): void {
    const { workspace, edits } = this.options;
    const { stdin } = workspace;
    edits.start(start);
    if (!hasInput) edits.setStdin(stdin);
  }
}
