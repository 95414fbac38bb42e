// The programs of tests/programs, read for what real tools wrote.

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

/** Those of a language, by the subset of TOML that they are written in. */
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

// A key, then a string in one of TOML's four kinds of quotes.
const STRING = new RegExp(
  "^(?:\"(?<key>[^\"\\n]+)\"|(?<bare>\\w+)) = " +
    "(?:'''\\n?(?<raw3>[^]*?)'''(?!')|\"\"\"\\n?(?<text3>[^]*?)\"\"\"(?!\")" +
    "|'(?<raw>[^'\\n]*)'|\"(?<text>(?:[^\"\\\\\\n]|\\\\.)*)\")",
  "gm",
);

function parsed(name: string, toml: string): Program {
  const values = new Map<string, string>();
  const files: SourceFile[] = [];
  const filesAt = toml.search(/^\[files\]/m);
  for (const match of toml.matchAll(STRING)) {
    const groups = match.groups ?? {};
    const key = groups["key"] ?? groups["bare"] ?? "";
    const escaped = groups["text3"] ?? groups["text"];
    const value = groups["raw3"] ?? groups["raw"] ?? unescaped(escaped ?? "");
    if (filesAt >= 0 && match.index > filesAt) files.push({ path: key, content: value });
    else values.set(key, value);
  }
  const entryFile = values.get("entry") ?? files[0]?.path ?? "";
  return {
    name,
    entryFile,
    files,
    hasStdin: values.has("stdin"),
    result: {
      kind: "ran",
      stdout: values.get("stdout") ?? "",
      stderr: values.get("stderr") ?? "",
      exit: parseExit(values.get("exit") ?? "stage=run; code=0"),
      timings: {},
      elapsedMs: 0,
    },
  };
}

function unescaped(text: string): string {
  const plain: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", e: "\u001b" };
  return text.replace(/\\(?:u([\da-fA-F]{4})|U([\da-fA-F]{8})|\n\s*|(.))/g, (all, short, long, one) => {
    const code: string | undefined = short ?? long;
    if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
    return all.startsWith("\\\n") ? "" : (plain[String(one)] ?? String(one));
  });
}
