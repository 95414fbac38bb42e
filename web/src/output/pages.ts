// The other pages of a program, which are built when the person follows a link to one.

import { t } from "../messages";
import type { Preview } from "../preview/preview";
import type { Followed } from "../preview/requests";
import { randomId, run, type Answer } from "../run/client";
import { summary } from "../run/words";
import type { Snapshot } from "../workspace";

/** Pages that are built after a run. A page can claim that the person follows a link. */
const MAX_BUILDS = 10;

export class Pages {
  private readonly preview: Preview;
  private readonly language: string;
  /** The documents since the run, by the paths of their pages. */
  private readonly built = new Map<string, string>();
  private builds = 0;
  private program: Snapshot | null = null;
  private abort: AbortController | null = null;

  constructor(preview: Preview, language: string) {
    this.preview = preview;
    this.language = language;
    preview.followed.listen((followed) => void this.open(followed));
  }

  /** A run has begun. */
  begin(): void {
    this.abort?.abort();
    this.built.clear();
    this.builds = 0;
    this.program = null;
  }

  /** The run has made this document. */
  show(program: Snapshot, html: string): void {
    this.begin();
    this.program = program;
    this.built.set(program.entryFile, html);
    this.preview.show(html, program);
  }

  private async open(followed: Followed): Promise<void> {
    const { preview, program, language } = this;
    const { path } = followed;
    if (program === null) return;
    this.abort?.abort();
    const known = this.built.get(path);
    if (known !== undefined) return preview.open(known, followed);
    if (this.builds >= MAX_BUILDS) return preview.say(t("preview.too-many-pages", { path, n: MAX_BUILDS }));
    this.builds += 1;
    const abort = new AbortController();
    this.abort = abort;
    const { generation } = preview;
    preview.notify(t("preview.opening", { path }));
    const snapshot = { ...program, entryFile: path };
    const answer = await run({ language, snapshot, id: randomId() }, abort.signal);
    // The person has gone elsewhere, or has run another program.
    if (abort.signal.aborted || preview.generation !== generation) return;
    const html = answer.kind === "ran" ? answer.stdout : "";
    if (html === "") return preview.notify(t("preview.not-built", { path, reason: reason(answer) }));
    this.built.set(path, html);
    preview.open(html, followed);
  }
}

function reason(answer: Answer): string {
  return answer.kind === "ran" ? answer.stderr.slice(0, 500) : summary(answer);
}
