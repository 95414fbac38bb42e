// What is said of a run, and whether it wanted input.

import { describe, expect, test } from "vitest";

import { needsInput } from "../src/errors";
import { parseExit, type RunResult } from "../src/run/client";
import { running, stages, summary, waiting } from "../src/run/words";
import { program } from "./programs";

function ran(exit: string, stderr = ""): RunResult {
  return { kind: "ran", stdout: "", stderr, exit: parseExit(exit), timings: {}, elapsedMs: 420 };
}

test.each([
  ["stage=run; code=0", "Finished in 0.42 s"],
  ["stage=run; code=3", "Finished with exit code 3 in 0.42 s"],
  ["stage=compile; code=1", "Did not compile, after 0.42 s"],
  ["stage=run; limit=time", "The program took too long and was stopped after 0.42 s"],
  ["stage=run; limit=cpu", "The program used too much processor time and was stopped after 0.42 s"],
  ["stage=compile; limit=time", "Compiling took too long and was stopped after 0.42 s"],
  ["stage=run; limit=memory", "The program used too much memory and was stopped after 0.42 s"],
  ["stage=run; limit=output", "The program wrote too much: it was stopped after 0.42 s, and the output is cut off"],
  [
    "stage=run; signal=SIGSEGV",
    "The program crashed after 0.42 s: it used memory that is not its own (segmentation fault), SIGSEGV",
  ],
  ["stage=run; signal=SIGUSR1", "The program crashed after 0.42 s: SIGUSR1"],
])("%s", (exit, words) => {
  expect(summary(ran(exit))).toBe(words);
});

test("where no run took place", () => {
  expect(summary({ kind: "refused", status: 400, message: "bad path" })).toBe("Not run: bad path.");
  expect(summary({ kind: "busy", message: "", retryAfterMs: null })).toBe(
    "Not run: the service is busy. Try again in a moment.",
  );
  expect(summary({ kind: "lost" })).toContain("Your code is still here");
});

test("while it lasts", () => {
  expect(running(300)).toBe("Running…");
  expect(running(2300)).toBe("Waiting or running… 2 s");
  expect(waiting(11_200)).toBe("Many people on your network are running code. Yours starts in 12 s");
  expect(waiting(-5)).toContain("in 1 s");
});

test("times by stage", () => {
  const result = { ...ran("stage=run; code=0"), timings: { queue: 0.2, compile: 120, run: 250 } };
  expect(stages(result)).toEqual([
    { name: "Waiting for a place", time: "0.2 ms" },
    { name: "Compiling", time: "0.12 s" },
    { name: "Running", time: "0.25 s" },
    { name: "Sending and receiving", time: "49.8 ms" },
  ]);
  expect(stages(ran("stage=run; code=0"))).toEqual([]);
});

describe("input", () => {
  function need(language: string, content: string, result = ran("stage=run; code=0"), stdin = ""): string | null {
    return needsInput({ language, result, stdin, files: [{ path: "main", content }] });
  }

  test.each([
    ["python", "stdin-at-its-end", "a\n", "short"],
    ["java", "stdin-missing", "", "missing"],
    ["csharp", "stdin-missing", "", "missing"],
    ["php", "no-stdin", "", "missing"],
    ["python", "wrong-types", "", null],
    ["java", "null-pointer", "", null],
    ["csharp", "null-reference", "", null],
    ["c", "segmentation-fault", "", null],
  ])("of the real %s/%s", (language, name, stdin, expected) => {
    const { files, result } = program(language, name);
    expect(needsInput({ language, result, stdin, files })).toBe(expected);
  });

  test.each([
    ["c", 'int n; scanf("%d", &n);'],
    ["c", "while ((c = getchar()) != EOF) {}"],
    ["c", "fgets(line, sizeof line, stdin);"],
    ["cpp", "std::cin >> n;"],
    ["cpp", "while (getline(cin, line)) {}"],
    ["php", "$name = fgets(STDIN);"],
    ["php", '$name = readline("Name? ");'],
    ["java", "var in = new Scanner(System.in); while (in.hasNext()) {}"],
    ["python", "for line in sys.stdin:"],
    ["csharp", "var name = Console.ReadLine();"],
    ["csharp", "int.TryParse(Console.ReadLine(), out var n);"],
  ])("is read by %s: %s", (language, content) => {
    expect(need(language, content)).toBe("missing");
    expect(need(language, content, undefined, "1\n")).toBeNull();
    expect(need(language, content, ran("stage=compile; code=1"))).toBeNull();
  });

  test.each([
    ["c", "// scanf\nputs(\"x\");"],
    ["c", "puts(\"press a key\");\n  getchar();"],
    ["c", "/* fgets */ int x;"],
    ["csharp", "Console.WriteLine(1);\nConsole.ReadLine();"],
    ["csharp", "Console.WriteLine(1); Console.ReadKey();"],
    ["cpp", "std::cout << 1;"],
    ["python", "name = input()"],
    ["mysql", "SELECT 1"],
  ])("is not missed by %s: %s", (language, content) => {
    expect(need(language, content)).toBeNull();
  });

  test("is missed where the error says so only together with the source", () => {
    const failed = ran("stage=run; code=1", 'Exception in thread "main" java.lang.NullPointerException: x\n');
    expect(need("java", "new BufferedReader(new InputStreamReader(System.in))", failed)).toBe("missing");
    expect(need("java", "String text = null;", failed)).toBeNull();
    const python = ran("stage=run; code=1", "ValueError: invalid literal for int() with base 10: ''\n");
    expect(need("python", "n = int(sys.stdin.readline())", python)).toBe("missing");
  });
});
