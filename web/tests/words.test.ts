// The sentences about a run, and whether it wanted input.

import { describe, expect, test } from "vitest";

import { draws, needsInput } from "../src/errors";
import { parseExit, type Answer, type RunResult } from "../src/run/client";
import type { Artifact } from "../src/run/left";
import { pauseAfter } from "../src/run/retry";
import { endsIn, outcomeOf, running, spoken, stages, summary, waiting } from "../src/run/words";
import { settingsOf } from "./definitions";
import { program } from "./programs";

function ran(exit: string, stderr = ""): RunResult {
  return { kind: "ran", stdout: "", stderr, exit: parseExit(exit), timings: {}, elapsedMs: 420 };
}

test.each([
  ["stage=run; code=0", "Finished in 0.42 s"],
  ["stage=run; code=3", "Failed with exit code 3 (0.42 s)"],
  ["stage=compile; code=1", "Compile error (0.42 s)"],
  ["stage=run; limit=time", "Took too long: stopped after 0.42 s"],
  ["stage=run; limit=cpu", "Too much processor time: stopped after 0.42 s"],
  ["stage=compile; limit=time", "Took too long: compiling stopped after 0.42 s"],
  ["stage=run; limit=idle", "Waited too long for input: stopped after 0.42 s"],
  ["stage=run; stopped=true", "Stopped."],
  ["stage=run; limit=memory", "Too much memory: stopped after 0.42 s"],
  ["stage=run; limit=output", "Too much output: stopped after 0.42 s, output truncated"],
  ["stage=run; limit=new", "Limit reached (new): stopped after 0.42 s"],
  ["stage=run; signal=SIGSEGV", "Crashed after 0.42 s: it accessed memory it does not own (SIGSEGV)"],
  ["stage=run; signal=SIGUSR1", "Crashed after 0.42 s: SIGUSR1"],
  ["stage=compile; signal=SIGUSR1", "The compiler crashed after 0.42 s: SIGUSR1"],
])("%s", (exit, words) => {
  expect(summary(ran(exit))).toBe(words);
});

test("a crash whose line is known", () => {
  const crash = { path: "main.c", line: 7 };
  expect(summary({ ...ran("stage=run; signal=SIGSEGV"), crash })).toBe(
    "Crashed in main.c, line 7, after 0.42 s",
  );
});

test.each([
  ["stage=run; code=0", "ok"],
  ["stage=run; code=3", "failed"],
  ["stage=compile; code=1", "compile"],
  ["stage=run; limit=time", "limit"],
  ["stage=run; limit=output", "limit"],
  ["stage=run; stopped=true", "stopped"],
  ["stage=run; signal=SIGABRT", "crash"],
  ["stage=run; code=134; signal=SIGSEGV", "crash"],
])("the icon after %s is that of %s", (exit, outcome) => {
  expect(outcomeOf(ran(exit))).toBe(outcome);
});

test("those who listen hear the first line of an error, else how much came", () => {
  const failed = ran("stage=run; code=1", "\n  NameError: no\nmore\n");
  expect(spoken(failed, null, "1\n")).toBe(": NameError: no");
  expect(spoken(failed, "NameError: marked\nmore", "1\n")).toBe(": NameError: marked");
  const long = ran("stage=run; limit=output", "Output limit exceeded: 1 MiB\n");
  expect(spoken(long, null, "x")).toBe(": Output limit exceeded: 1 MiB");
  expect(spoken(ran("stage=run; signal=SIGABRT"), null, "x")).toBe("");
  expect(spoken(ran("stage=run; stopped=true", "x"), null, "x")).toBe("");
  const well = ran("stage=run; code=0");
  expect(spoken(well, null, "a\nb\n")).toBe(", 2 lines of output");
  expect([spoken(well, null, ""), spoken(well, null, null)]).toEqual([", no output", ""]);
});

test("a program that left files", () => {
  const file = { path: "a", type: "text/plain", size: 0, encoding: "utf8", content: "" } as const;
  const recording = { ...file, type: "application/json", display: 1 };
  const words = (artifacts: Artifact[]) => summary({ ...ran("stage=run; code=0"), left: { artifacts, skipped: [] } });
  expect(words([])).toBe("Finished in 0.42 s");
  expect(words([file])).toBe("Finished in 0.42 s; it left 1 file");
  expect(words([file, recording])).toBe("Finished in 0.42 s; it left 1 file");
  expect(words([file, file])).toBe("Finished in 0.42 s; it left 2 files");
});

test.each<[string, boolean]>([
  ["import turtle", true],
  ["x = 1\n  from matplotlib import pyplot as p", true],
  ["import matplotlib.pyplot as plt", true],
  ["import os, sys,turtle", true],
  ["from PIL import Image", true],
  ["# import turtle", false],
  ["print('import turtle')", false],
  ["import turtles", false],
  ["import my.turtle", false],
  ["from shapes import turtle", false],
])("%j draws: %s", (content, expected) => {
  expect(draws(settingsOf("python"), [{ path: "main.py", content }])).toBe(expected);
  expect(draws(settingsOf("c"), [{ path: "main.c", content }])).toBe(false);
});

test("the program was not run", () => {
  const refused = (status: number, message = "") => summary({ kind: "refused", status, message });
  expect(refused(400, "bad path")).toBe("Not run: bad path.");
  expect(refused(500, "internal error")).toContain("the service failed (500). Your code is still here");
  expect(refused(200)).toContain("Do you have to log in to your network?");
  expect(refused(404)).toContain("there is no service at this address (404)");
  expect(refused(407)).toContain("your network blocks the service (407)");
  expect(refused(504)).toContain("the service did not answer (504)");
  expect(refused(418)).toContain("answered 418");
  const large = (message: string) => summary({ kind: "too-large", message });
  expect(large("the request body must not be larger than 2 MiB")).toBe("Not run: your files are too large: the limit is 2 MiB.");
  expect(large("")).toBe("Not run: your files are too large.");
  const taken = (message: string) => summary({ kind: "busy", message, retryAfterMs: null, isLive: true });
  expect(taken("all 4 live runs are taken")).toBe("All live runs are taken.");
  expect(taken("this client's half of the live runs is taken")).toBe("Your network's live runs are taken.");
  expect(summary({ kind: "busy", message: "", retryAfterMs: null })).toBe(
    "Not run: the service is busy. Try again in a moment.",
  );
  expect(summary({ kind: "lost", isOffline: false })).toContain("Your code is still here");
  expect(summary({ kind: "lost", isOffline: true })).toContain("You are offline.");
});

test("while a run lasts", () => {
  expect(running(300, "queued")).toBe("Running…");
  expect(running(2300, "unknown")).toBe("Queued or running… 2 s");
  expect(running(2300, "queued")).toBe("In the queue… 2 s");
  expect(running(2300, "running")).toBe("Running… 2 s");
  expect([300, 2300].map((ms) => running(ms, "compiling"))).toEqual(["Compiling…", "Compiling… 2 s"]);
  expect(endsIn(29_100, true)).toBe("Ends in 30 s without input");
  expect(endsIn(-5, false)).toBe("Ends in 1 s without output");
  const limited = { kind: "limited" } as const;
  expect(waiting(11_200, limited)).toBe("Too many runs from your network. Yours starts in 12 s");
  expect(waiting(-5, limited)).toContain("in 1 s");
  const busy = (message: string) => waiting(2000, { kind: "busy", message });
  expect(busy("too many runs are waiting already")).toBe("The service is busy. Retrying in 2 s");
  expect(busy("Java is being prepared: 2 of 3")).toBe("Java is being prepared: 2 of 3. Retrying in 2 s");
});

describe("a run that was refused", () => {
  const limited = { kind: "limited", retryAfterMs: 8000 } as const;
  const busy = { kind: "busy", message: "", retryAfterMs: 4000 } as const;
  test.each<[string, Answer, number, number | null]>([
    ["waits as long as it is asked to, and up to as long again", limited, 0, 12_000],
    ["waits again, as often as it is asked to", limited, 50, 12_000],
    ["adds two seconds to a short time", { ...limited, retryAfterMs: 1000 }, 0, 2000],
    ["adds fifteen seconds to a long one", { ...limited, retryAfterMs: 60_000 }, 0, 67_500],
    ["is given no time", { ...limited, retryAfterMs: null }, 0, 7500],
    ["is given no time again", { ...limited, retryAfterMs: null }, 2, 27_500],
    ["is given no time for long", { ...limited, retryAfterMs: null }, 20, 67_500],
    ["met a full queue", busy, 0, 6000],
    ["met a full queue once too often", busy, 10, null],
    ["met a language that cannot run here", { ...busy, retryAfterMs: null }, 0, null],
    ["is too large", { kind: "too-large", message: "" }, 0, null],
    ["was lost", { kind: "lost", isOffline: false }, 0, null],
  ])("%s", (_, answer, refusals, waitMs) => {
    expect(pauseAfter(answer, refusals, 0.5)?.waitMs ?? null).toBe(waitMs);
  });

  test("never comes before its time", () => {
    expect(pauseAfter(limited, 0, 0)?.waitMs).toBe(8000);
  });

  test("thirty clients of one address finish by themselves", () => {
    // A window of 60 s in which a server admits 20 requests, as an address has by default.
    const [windowMs, limit] = [60_000, 20];
    const admitted: number[] = [];
    const clients = Array.from({ length: 30 }, (_, index) => ({ at: index, refusals: 0, random: index / 29 }));
    for (let requests = 0; clients.length > 0; requests++) {
      expect(requests).toBeLessThan(1000);
      clients.sort((a, b) => b.at - a.at);
      const client = clients.pop();
      if (client === undefined) break;
      const recent = admitted.filter((time) => time > client.at - windowMs);
      if (recent.length < limit) {
        admitted.push(client.at);
        continue;
      }
      const retryAfterMs = Math.ceil(((recent[0] ?? 0) + windowMs - client.at) / 1000) * 1000;
      const pause = pauseAfter({ kind: "limited", retryAfterMs }, client.refusals, client.random);
      if (pause === null) throw new Error("it gave up");
      clients.push({ ...client, at: client.at + pause.waitMs, refusals: client.refusals + 1 });
    }
    expect(admitted).toHaveLength(30);
    expect(Math.max(...admitted)).toBeLessThan(2 * windowMs);
  });
});

test("times by stage", () => {
  const result = { ...ran("stage=run; code=0"), timings: { queue: 0.2, compile: 120, run: 250 } };
  expect(stages(result)).toEqual([
    { name: "Queued", time: "0.2 ms" },
    { name: "Compiling", time: "0.12 s" },
    { name: "Running", time: "0.25 s" },
    { name: "Sending and receiving", time: "49.8 ms" },
  ]);
  expect(stages(ran("stage=run; code=0"))).toEqual([]);
});

describe("input", () => {
  function need(language: string, content: string, result = ran("stage=run; code=0"), stdin = ""): string | null {
    return needsInput({ input: settingsOf(language).input, result, stdin, files: [{ path: "main", content }] });
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
    expect(needsInput({ input: settingsOf(language).input, result, stdin, files })).toBe(expected);
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
    ["python", "from sys import argv, stdin\nfor line in stdin:"],
    ["python", "lines = open(0).read().split()"],
    ["csharp", "var name = Console.ReadLine();"],
    ["csharp", "int.TryParse(Console.ReadLine(), out var n);"],
  ])("is read by %s: %s", (language, content) => {
    expect(need(language, content)).toBe("missing");
    expect(need(language, content, undefined, "1\n")).toBeNull();
    expect(need(language, content, ran("stage=compile; code=1"))).toBeNull();
  });

  test.each([
    ["c", 'for (;;) { printf("Enter: "); scanf("%d", &n); }', "ended"],
    ["java", 'while (true) { System.out.println("? "); System.in.read(); }', "ended"],
    ["python", "while True: print(sys.stdin.readline())", "ended"],
    ["cpp", 'for (;;) { std::cout << "? "; std::cin >> n; }', "ended"],
    ["php", 'while (true) { echo "? "; $n = fgets(STDIN); }', "ended"],
    ["csharp", 'while (true) { Console.Write("? "); var n = Console.ReadLine(); }', "ended"],
    ["c", 'for (;;) puts("x");', null],
    ["cpp", 'for (;;) std::cout << "x";', null],
    ["php", 'while (true) { echo "x"; }', null],
    ["csharp", 'while (true) { Console.Write("x"); }', null],
  ])("may have ended when %s wrote too much: %s", (language, content, expected) => {
    const result = ran("stage=run; limit=output", "Output limit exceeded: 1 MiB\n");
    expect(need(language, content, result)).toBe(expected);
    expect(need(language, content, result, "1\n")).toBe(expected);
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

  test("is missed if the error says so only together with the source", () => {
    const failed = ran("stage=run; code=1", 'Exception in thread "main" java.lang.NullPointerException: x\n');
    expect(need("java", "new BufferedReader(new InputStreamReader(System.in))", failed)).toBe("missing");
    expect(need("java", "String text = null;", failed)).toBeNull();
    const python = ran("stage=run; code=1", "ValueError: invalid literal for int() with base 10: ''\n");
    expect(need("python", "n = int(sys.stdin.readline())", python)).toBe("missing");
  });
});
