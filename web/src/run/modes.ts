// The kind of the next run: as the page's author wants it, and as the person has
// chosen since.

import type { PageConfig, Parameters } from "../config";
import type { Snapshot } from "../workspace";
import type { Mode } from "./current-run";

export class Modes {
  private readonly config: PageConfig;
  private readonly parameters: Parameters;
  private wantsPictures = false;
  private wantsToType = false;
  private isBefore = false;

  constructor(config: PageConfig, parameters: Parameters) {
    this.config = config;
    this.parameters = parameters;
  }

  /** The kind of a run that starts now. */
  next({ stdin }: Snapshot): Mode {
    const { api, artifacts, warnings, input } = this.parameters;
    // A person who fills in the input box wants that input.
    const live = input === "live" || (this.wantsToType && stdin === "");
    const wantsFiles = artifacts || this.wantsPictures;
    const hasEvents = api === "run" || wantsFiles || warnings || input === "live";
    const mode = {
      hasEvents,
      artifacts: this.config.artifacts && wantsFiles,
      // They come as a file that the run leaves.
      results: this.config.artifacts && hasEvents && this.config.output === "tables",
      warnings,
      external: this.config.output === "document",
      live: this.takesLive && live && !this.isBefore,
    };
    this.isBefore = false;
    return mode;
  }

  /** Whether to offer to type while the program runs. */
  get offersToType(): boolean {
    return this.takesLive && this.parameters.input === "auto";
  }

  /** Whether the files that a run leaves could be shown, but are not. */
  get offersPictures(): boolean {
    return this.config.artifacts && !this.parameters.artifacts && !this.wantsPictures;
  }

  /** Shows pictures and other files from now on. */
  showPictures(): void {
    this.wantsPictures = true;
  }

  /** Has the person type while programs run, as long as the input box is empty. */
  typeLive(): void {
    this.wantsToType = true;
  }

  /** The next run gets the input of the box alone. */
  typeBefore(): void {
    this.isBefore = true;
  }

  private get takesLive(): boolean {
    return this.config.takesStdin && this.config.live;
  }
}
