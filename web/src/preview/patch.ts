// The console of a page: each call is also reported to the editor.

import { formatted, tabled } from "./format";
import type { Entry, Level, Table, Value } from "./protocol";
import type { Recorder } from "./recorder";
import { brief } from "./serialise";

type Call = (...args: unknown[]) => void;

const NAME = "default";
const MAX_STACK = 4000;
const MAX_GROUPS = 32;

/** Replaces the methods of `console`; the browser's own are still called. */
export class ConsolePatch {
  private readonly recorder: Recorder;
  private readonly counts = new Map<string, number>();
  private readonly timers = new Map<string, number>();
  private depth = 0;

  constructor(recorder: Recorder) {
    this.recorder = recorder;
  }

  apply(console: Console): void {
    const target = console as unknown as Record<string, unknown>;
    for (const [name, own] of Object.entries(this.methods())) {
      const native = target[name];
      target[name] = (...args: unknown[]) => {
        // An error of this code must not become an error of the page.
        try {
          own(...args);
        } finally {
          if (typeof native === "function") Reflect.apply(native, console, args);
        }
      };
    }
  }

  /** Reports a message with its stack. */
  say(level: Level, values: Value[], stack = stackHere(), table: Table | null = null): void {
    this.add({ level, values, depth: this.depth, table, stack, isUncaught: false });
  }

  /** An error that nobody caught. */
  sayUncaught(values: Value[], stack: string): void {
    this.add({ level: "error", values, depth: this.depth, table: null, stack, isUncaught: true });
  }

  private add(entry: Entry): void {
    this.recorder.add({ ...entry, stack: entry.stack.slice(0, MAX_STACK) });
  }

  private methods(): Record<string, Call> {
    const caller = (level: Level): Call => (...args) => this.say(level, formatted(args));
    const words = (level: Level, text: string) => this.say(level, [{ type: "text", text }]);
    const label = (name: unknown) => (name === undefined ? NAME : brief(name));
    const group: Call = (...args) => {
      this.say("log", args.length === 0 ? [{ type: "text", text: "console.group" }] : formatted(args));
      this.depth = Math.min(this.depth + 1, MAX_GROUPS);
    };
    return {
      log: caller("log"), info: caller("info"), warn: caller("warn"), error: caller("error"), debug: caller("debug"),
      dir: (value) => this.say("log", formatted([value])),
      dirxml: caller("log"),
      trace: (...args) => this.say("log", [...formatted(["Trace:", ...args]), trace(stackHere())]),
      table: (data, columns) => this.say("log", formatted([data]), stackHere(), tabled(data, columns)),
      assert: (holds, ...args) => {
        if (!holds) this.say("error", formatted(["Assertion failed", ...args]));
      },
      group,
      groupCollapsed: group,
      groupEnd: () => void (this.depth = Math.max(0, this.depth - 1)),
      count: (name) => {
        const count = (this.counts.get(label(name)) ?? 0) + 1;
        this.counts.set(label(name), count);
        words("log", `${label(name)}: ${count}`);
      },
      countReset: (name) => void this.counts.delete(label(name)),
      ...this.clocks(words, label),
      clear: () => {
        this.depth = 0;
        this.recorder.clear();
      },
    };
  }

  private clocks(words: (level: Level, text: string) => void, label: (name: unknown) => string): Record<string, Call> {
    const elapsed = (name: unknown, args: unknown[]) => {
      const start = this.timers.get(label(name));
      if (start === undefined) return words("warn", `There is no timer ${label(name)}`);
      const text = `${label(name)}: ${(performance.now() - start).toFixed(3)} ms`;
      this.say("log", [{ type: "text", text }, ...(args.length > 0 ? formatted(args) : [])]);
    };
    return {
      time: (name) => void this.timers.set(label(name), performance.now()),
      timeLog: (name, ...args) => elapsed(name, args),
      timeEnd: (name) => {
        elapsed(name, []);
        this.timers.delete(label(name));
      },
    };
  }
}

/** The stack of the caller, as the browser writes it. */
function stackHere(): string {
  const { stack } = new Error();
  return typeof stack === "string" ? stack : "";
}

const trace = (stack: string): Value => ({ type: "error", text: "", stack: stack.slice(0, MAX_STACK) });
