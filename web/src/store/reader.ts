// The reader's own settings, kept in the browser if it allows that. They win over
// the parameters of the page, which are the start.

import type { Parameters, ThemeChoice } from "../config";
import { Event } from "../event";
import { isRecord } from "./snapshot";

const KEY = "sandpiper/reader";
export const MIN_FONT_SIZE = 10;
export const MAX_FONT_SIZE = 32;

/** The choices of the reader; the rest is as the page's author wants it. */
export interface Choices {
  theme?: ThemeChoice;
  fontSize?: number;
  wrap?: boolean;
  wrapOutput?: boolean;
  /** The percentage of the code, beside the results and above them. */
  cols?: number;
  rows?: number;
  /** The percentage of the console below a preview. */
  console?: number;
}

export class Reader {
  readonly changed = new Event<void>();
  private choices: Choices;
  private suggested: ThemeChoice;
  private readonly parameters: Parameters;
  private readonly storage: () => Storage;

  /** `storage` may throw, as `window.localStorage` does if it is blocked. */
  constructor(parameters: Parameters, storage: () => Storage) {
    this.parameters = parameters;
    this.suggested = parameters.theme;
    this.storage = storage;
    this.choices = this.read();
    this.apply();
  }

  get theme(): ThemeChoice {
    return this.choices.theme ?? this.suggested;
  }

  /** The page around this one wants this theme; a reader who has chosen keeps the own one. */
  suggestTheme(theme: ThemeChoice): void {
    this.suggested = theme;
    this.apply();
    this.changed.emit();
  }

  get fontSize(): number {
    return this.choices.fontSize ?? this.parameters.fontSize;
  }

  get wrap(): boolean {
    return this.choices.wrap ?? this.parameters.wrap;
  }

  get wrapOutput(): boolean {
    return this.choices.wrapOutput ?? false;
  }

  choose(change: Choices): void {
    this.take({ ...this.choices, ...change });
  }

  /** Takes over what another editor has kept; else the next choice made here would undo it. */
  reread(key: string | null): void {
    if (key === KEY) this.show(this.read());
  }

  /** Takes back these choices; without names, all of them. */
  forget(...names: (keyof Choices)[]): void {
    const kept = Object.entries(this.choices).filter(([name]) => names.length > 0 && !names.some((one) => one === name));
    this.take(Object.fromEntries(kept));
  }

  private show(choices: Choices): void {
    this.choices = choices;
    this.apply();
    this.changed.emit();
  }

  private take(choices: Choices): void {
    this.show(choices);
    try {
      this.storage().setItem(KEY, JSON.stringify(choices));
    } catch {
      // They hold until the page is left.
    }
  }

  private read(): Choices {
    try {
      return choicesIn(JSON.parse(this.storage().getItem(KEY) ?? "null"));
    } catch {
      return {};
    }
  }

  private apply(): void {
    const root = document.documentElement;
    const { cols, rows, console } = this.choices;
    const set = (name: string, value: string | undefined) => root.style.setProperty(name, value ?? "");
    root.dataset["theme"] = this.theme;
    root.toggleAttribute("data-wrap-output", this.wrapOutput);
    root.toggleAttribute("data-rows", rows !== undefined);
    set("--font-size", `${this.fontSize}px`);
    for (const [name, share] of Object.entries({ cols, rows })) {
      set(`--code-${name}`, share === undefined ? undefined : `${share}fr`);
      set(`--results-${name}`, share === undefined ? undefined : `${100 - share}fr`);
    }
    set("--results-share", cols === undefined ? undefined : `${100 - cols}%`);
    set("--console-share", console === undefined ? undefined : `${console}%`);
  }
}

/** The choices in a value that anything may have written. */
export function choicesIn(value: unknown): Choices {
  if (!isRecord(value)) return {};
  const { theme } = value;
  const numbers = { fontSize: [MIN_FONT_SIZE, MAX_FONT_SIZE], cols: [10, 90], rows: [10, 90], console: [10, 90] } as const;
  const valid = [
    ...Object.entries(numbers).filter(([name, [least, most]]) => {
      const number = value[name];
      return typeof number === "number" && number >= least && number <= most;
    }).map(([name]) => name),
    ...["wrap", "wrapOutput"].filter((name) => typeof value[name] === "boolean"),
    ...(theme === "auto" || theme === "light" || theme === "dark" ? ["theme"] : []),
  ];
  return Object.fromEntries(valid.map((name) => [name, value[name]]));
}
