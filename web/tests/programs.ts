// The programs of tests/programs, with the real output of the tools.

import { parse } from "smol-toml";

import { parseExit, type RunResult } from "../src/run/client";
import type { SourceFile } from "../src/workspace";

const texts = import.meta.glob<string>("../../tests/programs/*/*.toml", {
  query: "?raw",
  import: "default",
  eager: true,
});

export interface Program {
  name: string;
  entryFile: string;
  files: SourceFile[];
  result: RunResult;
  hasStdin: boolean;
}

/** Those of a language. */
export function programsOf(language: string): Program[] {
  return Object.entries(texts)
    .filter(([path]) => path.includes(`/programs/${language}/`))
    .map(([path, text]) => parsed(path.slice(path.lastIndexOf("/") + 1, -".toml".length), text));
}

export function program(language: string, name: string): Program {
  const found = programsOf(language).find((each) => each.name === name);
  if (found === undefined) throw new Error(`no program ${language}/${name}`);
  return found;
}

function parsed(name: string, text: string): Program {
  const { entry, files, stdin, stdout = "", stderr = "", exit = "stage=run; code=0" } = parse(text) as unknown as {
    entry?: string; files: Record<string, string>; stdin?: string; stdout?: string; stderr?: string; exit?: string;
  };
  const list = Object.entries(files).map(([path, content]) => ({ path, content }));
  return {
    name,
    entryFile: entry ?? list[0]?.path ?? "",
    files: list,
    hasStdin: stdin !== undefined,
    result: { kind: "ran", stdout, stderr, exit: parseExit(exit), timings: {}, elapsedMs: 0 },
  };
}
