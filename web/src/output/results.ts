// Shows the results of runs: output, marks, the page that a program made, files,
// and offers to run it in another way.

import type { PageConfig } from "../config";
import { byId, keepingFocus } from "../dom";
import type { Editor } from "../editor/editor";
import type { Mark, Marks } from "../editor/marks";
import { Explainer, Sources, crashMark, draws, marksOf, needsInput } from "../errors";
import { Later } from "../later";
import { t } from "../messages";
import type { Preview } from "../preview/preview";
import type { Answer, RunResult } from "../run/client";
import { verdictOf } from "../run/expected";
import type { InputBox } from "../run/input";
import type { Left } from "../run/left";
import type { Modes } from "../run/modes";
import { isResults } from "../run/query-results";
import type { CurrentRun, LiveStart } from "../run/current-run";
import { askForInput } from "../run/words";
import type { Edits } from "../store/edits";
import { visibleOf, type Snapshot, type Workspace } from "../workspace";
import type { Dialogue } from "./dialogue";
import type { Typing } from "./input-line";
import { Offers, type Offer } from "./offers";
import { Pages } from "./pages";
import type { OutputPanel } from "./panel";
import { links, linked } from "./render";

export interface ResultsOptions {
  config: PageConfig;
  workspace: Workspace;
  edits: Edits;
  editor: Editor;
  input: InputBox;
  currentRun: CurrentRun;
  modes: Modes;
  output: OutputPanel;
  preview: Preview | null;
  marks: Marks;
}

export class Results {
  private readonly options: ResultsOptions;
  private readonly box = byId("results");
  private readonly offers = new Offers();
  /** The text that was typed into live runs. */
  private readonly typing: Typing = { lines: [], draft: "" };
  private readonly explainer: Explainer | null;
  /** Views of files; loaded when it is first used. */
  private readonly files = new Later(() => import("./artifacts"));
  /** The view of differences from the expected output. */
  private readonly differences = new Later(() => import("./difference"));
  /** The pages of the program, if the language makes any. */
  private readonly pages: Pages | null;
  /** The program of the run: the person may have typed since. */
  private submitted: Snapshot;
  private sources: Sources;
  /** Whether another program has taken its place. */
  private isReplaced = false;
  /** The offers after the last run, for the program as it is now. */
  private offered: () => Offer[] = () => [];
  private dialogue: Dialogue | null = null;
  /** Whether the person has asked for the line to type in. */
  private wantsFocus = false;

  constructor(options: ResultsOptions) {
    this.options = options;
    const { config, workspace, edits, currentRun, output, preview, marks } = options;
    this.pages = preview === null ? null : new Pages(preview, config.language);
    const { explanations } = config;
    this.explainer = explanations === null ? null : new Explainer(explanations, byId("streams"));
    this.submitted = workspace.snapshot();
    this.sources = sourcesOf(this.submitted);
    output.renderStderr = linked(this.linking());
    currentRun.started.listen(() => this.begin());
    currentRun.wentLive.listen((start) => this.converse(start));
    currentRun.ended.listen((answer) => this.end(answer));
    workspace.edited.listen(() => this.offers.show(this.offered()));
    workspace.replaced.listen(() => (this.isReplaced = true));
    // They are of the program before. A run that goes on is reported when it ends.
    edits.started.listen(() => !currentRun.isBusy && this.clear());
    for (const event of [workspace.replaced, output.cleared]) event.listen(() => this.withdraw());
    preview?.received.listen(({ isUncaught, text, place }) => {
      if (!isUncaught || place === null || !this.isAsSubmitted(place.file)) return;
      const { file: path, line, column } = place;
      marks.add({ path, line, column, severity: "error", message: text });
    });
  }

  /** Removes the results of the last run. */
  private clear(): void {
    const { marks, output, preview } = this.options;
    marks.show([]);
    keepingFocus(this.box, () => {
      output.reset();
      preview?.clear();
    });
  }

  private begin(): void {
    const { workspace, marks, output, preview } = this.options;
    this.submitted = workspace.snapshot();
    this.sources = sourcesOf(this.submitted);
    this.isReplaced = false;
    this.dialogue = null;
    this.wantsFocus = false;
    marks.show([]);
    this.pages?.begin();
    keepingFocus(this.box, () => {
      this.offer(() => []);
      output.begin();
      preview?.clear();
    });
  }

  private converse({ live, view }: LiveStart): void {
    const { output } = this.options;
    const { typing, box } = this;
    this.dialogue = new view({ live, results: box, typing, anchorsOf: links(this.linking()) });
    output.converse(this.dialogue);
    this.dialogue.show(this.wantsFocus);
    this.wantsFocus = false;
  }

  private end(answer: Answer): void {
    const { config, output } = this.options;
    this.wantsFocus = false;
    this.dialogue?.end();
    const found = answer.kind === "ran" ? marksOf(config.editor.messages, answer, this.sources) : [];
    const { expected = null } = this.submitted;
    const verdict = output.isDocument ? null : verdictOf(answer, expected);
    output.show(answer, found.find(({ severity }) => severity === "error")?.message ?? null, verdict);
    if (answer.kind === "ran") this.show(answer, found);
    if (answer.kind === "ran" && expected !== null && verdict?.matches === false) void this.showDifference(expected, answer.stdout);
    else if (answer.kind === "busy" && answer.isLive === true && !this.isReplaced) this.offer(() => [this.offerOfInput()]);
  }

  /** Removes offers and hints about another program, or about output that is gone. */
  private withdraw(): void {
    this.offer(() => []);
    this.options.input.ask(null);
  }

  /** Whether a file that is shown is the one that ran: an edited one has other lines. */
  private isAsSubmitted(path: string): boolean {
    const file = visibleOf(this.submitted.files).find((shown) => shown.path === path);
    return file !== undefined && file.content === this.options.workspace.content(path);
  }

  private offer(offered: () => Offer[]): void {
    this.offered = offered;
    this.offers.show(offered());
  }

  private show(result: RunResult, found: readonly Mark[]): void {
    const { marks, preview } = this.options;
    marks.show([...found, ...crashMark(result, found)].filter(({ path }) => this.isAsSubmitted(path)));
    // PHP goes on after most errors, and succeeds.
    void this.explainer?.show(found, result.stderr);
    if (result.warnings !== undefined) this.options.output.addWarnings(result.warnings);
    // Without a document, the errors take its place.
    if (preview !== null) byId("page").hidden = result.stdout === "";
    if (result.stdout !== "") this.pages?.show(this.submitted, result.stdout);
    if (!this.isReplaced) this.advise(result);
    if (result.left !== undefined) void this.showFiles(filesOf(result, result.left));
  }

  private advise(result: RunResult): void {
    const { config, input } = this.options;
    const { files, stdin } = this.submitted;
    // A person who typed has seen the questions.
    const isLive = this.dialogue !== null;
    const need = isLive ? null : needsInput({ input: config.editor.input, result, stdin, files });
    input.ask(need === null ? null : askForInput(need));
    this.offer(this.offersAfter(result, need !== null && stdin === ""));
  }

  private offersAfter(result: RunResult, lacksInput: boolean): () => Offer[] {
    const { config, modes, workspace } = this.options;
    const isTyping = lacksInput && modes.offersToType;
    const isDrawing = modes.offersPictures && result.exit.stage === "run" && draws(config.editor, this.submitted.files);
    return () => [
      // A person who fills in the input box wants that.
      ...(isTyping && workspace.stdin === "" ? [this.offerOfTyping()] : []),
      ...(isDrawing && draws(config.editor, workspace.files) ? [this.offerOfPictures()] : []),
    ];
  }

  private offerOfTyping(): Offer {
    const { modes, currentRun, input } = this.options;
    const act = () => {
      modes.typeLive();
      input.leave();
      void currentRun.start();
      this.wantsFocus = true;
    };
    return { words: t("live.offer"), label: t("live.offer-run"), act };
  }

  private offerOfPictures(): Offer {
    const { modes, currentRun } = this.options;
    const act = () => {
      modes.showPictures();
      void currentRun.start();
    };
    return { words: t("files.draws"), label: t("files.draws-run"), act };
  }

  private offerOfInput(): Offer {
    const { modes, currentRun, input, workspace } = this.options;
    const act = () => {
      modes.typeBefore();
      input.open();
      void currentRun.start();
    };
    const label = t(workspace.stdin === "" ? "live.run-without" : "live.run-with-input");
    return { words: "", label, act };
  }

  private async showDifference(expected: string, stdout: string): Promise<void> {
    const isOver = this.watch();
    // Without the view, the status still says that they differ.
    const view = await this.differences.get().catch(() => null);
    if (view !== null && !isOver()) this.options.output.addDifference(view.differenceOf(expected, stdout));
  }

  /** Returns a function that says whether another run has begun since, or the output was cleared. */
  private watch(): () => boolean {
    const { submitted } = this;
    return () => this.submitted !== submitted || byId("streams").querySelector(".invitation") !== null;
  }

  private async showFiles(left: Left): Promise<void> {
    const { config, output } = this.options;
    if (left.artifacts.length + left.skipped.length === 0) {
      if (!output.isDocument) output.addFiles(null);
      return;
    }
    const isOver = this.watch();
    const view = await this.files.get().catch(() => null);
    if (isOver()) return;
    if (view === null) output.say(t("files.not-shown"), "lost");
    else output.addFiles(view.filesOf(left, config.previewUrl));
  }

  private linking() {
    const { config, editor } = this.options;
    const onJump = (path: string, line: number, column: number) => editor.jump(path, line, column);
    return { messages: config.editor.messages, sources: () => this.sources, onJump };
  }
}

/** The files of which lines are shown: a hidden one cannot be opened. */
function sourcesOf({ entryFile, files }: Snapshot): Sources {
  return new Sources(entryFile, visibleOf(files));
}

/** The files to show: results of statements are shown as output. */
function filesOf({ results }: RunResult, left: Left): Left {
  if (results === undefined) return left;
  return { ...left, artifacts: left.artifacts.filter((artifact) => !isResults(artifact)) };
}
