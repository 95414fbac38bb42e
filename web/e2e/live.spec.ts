// Programs that talk: output as it comes, input typed meanwhile, and Stop, which
// keeps the output.

import { readFileSync } from "node:fs";

import type { Frame, Page } from "@playwright/test";

import { faults } from "./accessibility";
import { withFiles } from "./documents";
import { editorIn, ended, expect, heldRuns, stopClock, test, type Service } from "./service";
import { replaceCode } from "./typing";

const GREETER = `import java.util.Scanner;
class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        System.out.print("Name? ");
        System.out.println("Hi " + in.nextLine());
        System.out.print("Again? ");
        System.out.println("Hi " + in.nextLine());
        while (in.hasNextLine()) in.nextLine();
        System.out.println("Bye");
    }
}
`;
const DIALOGUE = `name = input("Name? ")
print("\\033[32mHi\\033[0m", name)
while True: input("More? ")
`;

async function framed(page: Page, service: Service, language: string, query: string, code: string): Promise<Frame> {
  const path = { java: "Main.java", python: "main.py", cpp: "main.cpp" }[language] ?? "";
  const url = `${service.url}/embed?${withFiles(`lang=${language}${query}`, { [path]: code })}`;
  await page.goto(service.hostPage(`<iframe title="Editor" src="${url}" width="1000" height="600"></iframe>`));
  return editorIn(page);
}

const setFiles = (page: Page, content: string) =>
  page.evaluate(
    (message) => document.querySelector("iframe")?.contentWindow?.postMessage(message, "*"),
    { app: "sandpiper", v: 1, type: "setFiles", payload: { files: [{ content }] } },
  );

const transcript = (frame: Frame) => frame.locator(".transcript pre");

/** Notes what the log announces, and when. */
const listening = (frame: Frame) =>
  frame.evaluate(() => {
    const announced: { text: string; ms: number }[] = [];
    Object.assign(window, { announced });
    new MutationObserver((records) => {
      for (const { target, addedNodes } of records) {
        if (target instanceof Element && target.closest('[role="log"][aria-live="polite"]') === target) {
          for (const node of addedNodes) announced.push({ text: node.textContent ?? "", ms: performance.now() });
        }
      }
    }).observe(document.body, { subtree: true, childList: true });
  });

test.describe("by keyboard and screen reader", () => {
  test.use({ bypassCSP: true });

  test("a run that lacked input is offered again; then a dialogue by keyboard alone", async ({ page, service }) => {
    const frame = await framed(page, service, "java", "", GREETER);
    await listening(frame);
    await frame.locator(".cm-content").focus();
    await page.keyboard.press("Control+Enter");
    const offer = frame.getByRole("button", { name: "Run again and type" });
    await expect(offer).toBeVisible();
    await expect(frame.locator("#input-hint")).toContainText("asked for input, but there was none");
    // Run has not moved the focus.
    await expect(frame.locator(".cm-content")).toBeFocused();
    await offer.focus();
    await page.keyboard.press("Enter");
    const line = frame.getByRole("textbox", { name: "Input", exact: true });
    await expect(line).toBeFocused();
    // The box, and the hint to type there, would be taken for the line.
    await expect(frame.locator("#input-hint")).toBeEmpty();
    await expect(frame.locator("#stdin")).toBeHidden();
    await expect(transcript(frame)).toHaveText("Name? ");
    await page.keyboard.type("Ann");
    await page.keyboard.press("Enter");
    await expect(transcript(frame)).toHaveText("Name? Ann\nHi Ann\nAgain? ");
    await expect(frame.locator(".typed")).toHaveText("Ann\n");
    await page.keyboard.press("ArrowUp");
    await expect(line).toHaveValue("Ann");
    await page.keyboard.press("ArrowDown");
    await expect(line).toHaveValue("");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await expect(transcript(frame)).toHaveText("Name? Ann\nHi Ann\nAgain? Ann\nHi Ann\n");
    expect(await faults(frame)).toEqual([]);
    await page.keyboard.press("Control+d");
    expect(await ended(frame)).toMatch(/^Finished in/);
    await expect(transcript(frame)).toHaveText(/Bye\n$/);
    await expect(line).toHaveCount(0);
    await expect(frame.locator("#results")).toBeFocused();
    await expect.poll(() => frame.evaluate("announced.map(({ text }) => text).join(' ')")).toMatch(/Bye$/);
    const announced = await frame.evaluate(() => (window as unknown as { announced: { text: string; ms: number }[] }).announced);
    const words = announced.map(({ text }) => text).join("\n");
    expect(words.match(/You typed: Ann/g)).toHaveLength(2);
    // If copying is blocked, the output is selected, without what the log announces.
    await frame.evaluate(() => getSelection()?.selectAllChildren(document.getElementById("streams") as HTMLElement));
    expect(await frame.evaluate("getSelection().toString()")).toMatch(/Bye\s*$/);
    expect(await frame.evaluate("getSelection().toString()")).not.toContain("You typed");
    // Once a second; it may be noted later than it was said.
    announced.slice(1).forEach(({ ms }, index) => expect(ms - (announced[index]?.ms ?? 0)).toBeGreaterThanOrEqual(500));
    // From now on Run starts live runs, and leaves the focus where it is.
    await page.keyboard.press("Control+Enter");
    await expect(transcript(frame)).toHaveText("Name? ");
    await expect(frame.locator("#results")).toBeFocused();
  });
});

test("the embedding page reads and types, and Stop keeps what was printed", async ({ page, service }) => {
  const frame = await framed(page, service, "python", "&input=live", DIALOGUE);
  await page.evaluate(() => {
    const announced: Record<string, unknown>[] = [];
    Object.assign(window, { announced });
    addEventListener("message", ({ data }) => announced.push(data));
  });
  const send = (type: string, payload: object = {}) =>
    page.evaluate(
      (message) => document.querySelector("iframe")?.contentWindow?.postMessage({ app: "sandpiper", v: 1, id: message.type, ...message }, "*"),
      { type, payload },
    );
  const announced = () => page.evaluate(() => (window as unknown as { announced: { type?: string; payload: Record<string, unknown> }[] }).announced);
  const output = async () => (await announced()).filter(({ type }) => type === "run:output").map(({ payload }) => payload["text"]).join("");
  await send("input", { text: "too early\n" });
  await expect.poll(announced).toContainEqual(expect.objectContaining({ id: "input", ok: false }));
  await send("run");
  await expect.poll(output).toBe("Name? ");
  await send("input", { text: "Ann\n" });
  await expect.poll(output).toBe("Name? \u001b[32mHi\u001b[0m Ann\nMore? ");
  await expect(transcript(frame)).toHaveText("Name? Ann\nHi Ann\nMore? ");
  await expect(frame.locator("#run-label")).toHaveText("Stop");
  await frame.locator("#run").click();
  await expect(frame.locator("#status")).toHaveText("Stopped.");
  await expect(transcript(frame)).toHaveText("Name? Ann\nHi Ann\nMore? ");
  const payload = expect.objectContaining({ ran: true, stopped: true, exit: null, stdout: expect.stringContaining("More? ") });
  await expect.poll(announced).toContainEqual(expect.objectContaining({ type: "run:end", payload }));
  // The end of the input is an error of this program; it names its line.
  await send("run");
  await expect.poll(async () => (await output()).endsWith("Name? ")).toBe(true);
  await send("endInput");
  expect(await ended(frame)).toContain("exit code 1");
  await frame.getByRole("button", { name: /main\.py.*line 1/ }).click();
  await expect(frame.locator(".cm-activeLine")).toContainText("Name? ");
  // Input right after the command to run waits for the program.
  await Promise.all([send("run"), send("input", { text: "Eve\n" })]);
  await expect(transcript(frame)).toContainText("Hi Eve\nMore? ");
});

test("lines that are pasted are sent as lines", async ({ page, service }) => {
  const frame = await framed(page, service, "python", "&input=live", "for n in range(3): print(repr(input()))");
  await frame.locator("#run").click();
  const line = frame.getByRole("textbox", { name: "Input", exact: true });
  await line.fill("a");
  await line.evaluate((field) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "b\r\n\nc");
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }));
  });
  await expect(transcript(frame)).toHaveText("ab\n\n'ab'\n''\n");
  await expect(line).toHaveValue("c");
  await line.press("Enter");
  expect(await ended(frame)).toMatch(/^Finished in/);
  await expect(transcript(frame)).toHaveText("ab\n\n'ab'\n''\nc\n'c'\n");
});

test("a line that is not sent stays in the field, and is marked", async ({ page, service }) => {
  const frame = await framed(page, service, "python", "&input=live", "print('Hi', input('Name? '))");
  await frame.locator("#run").click();
  const line = frame.getByRole("textbox", { name: "Input", exact: true });
  await expect(transcript(frame)).toHaveText("Name? ");
  await line.fill("Ann");
  await page.route("**/api/run/*/input", (route) => route.abort());
  await line.press("Enter");
  await expect(frame.locator(".live-fault")).toHaveText("Not sent: the connection was lost.");
  await expect(line).toHaveValue("Ann");
  await expect(line).toBeFocused();
  await expect(transcript(frame)).toHaveText("Name? Not sent: Ann\n");
  expect(await faults(frame)).toEqual([]);
  // Nor has the input ended. The key of a keyboard of another script.
  await line.dispatchEvent("keydown", { key: "в", code: "KeyD", ctrlKey: true });
  await expect(transcript(frame)).toHaveText("Name? Not sent: Ann\nNot sent: Ann\n");
  await page.unroute("**/api/run/*/input");
  await line.press("Enter");
  expect(await ended(frame)).toMatch(/^Finished in/);
  await expect(transcript(frame)).toHaveText("Name? Not sent: Ann\nNot sent: Ann\nAnn\nHi Ann\n");
});

test("what the program did not take before its end stands in the line of the next run", async ({ page, service }) => {
  const frame = await framed(page, service, "python", "&input=live", "input(); print('over')");
  await frame.locator("#run").click();
  const line = frame.getByRole("textbox", { name: "Input", exact: true });
  await line.evaluate((field) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "a\nb");
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }));
  });
  expect(await ended(frame)).toMatch(/^Finished in/);
  await expect(line).toHaveCount(0);
  await frame.locator("#run").click();
  await expect(line).toHaveValue("b");
});

test("much output as it comes is shown in part, and kept whole", async ({ page, service }) => {
  const code = String.raw`for n in range(9_000): print(f"\x1b[3{n % 8}m{n}\x1b[1m!\x1b[0m?")
print("\x1b[31ma\x1b[32mb" * 10_000)`;
  // In columns there is no room for the tools beside the words of a slow run.
  const frame = await framed(page, service, "python", "&input=live&layout=rows", code);
  await frame.locator("#run").click();
  expect(await ended(frame)).toMatch(/^Finished in/);
  expect(await frame.locator("#streams *").count()).toBeLessThan(50_000);
  await expect(transcript(frame)).toContainText("15,000 more characters in this line are not shown");
  await expect(frame.getByText("Earlier lines are not shown here.")).toBeVisible();
  const download = page.waitForEvent("download");
  await frame.getByRole("button", { name: "Save" }).click();
  const lines = Array.from({ length: 9_000 }, (_, n) => `${n}!?\n`).join("");
  expect(readFileSync(await (await download).path(), "utf8") === `${lines}${"ab".repeat(10_000)}\n`).toBe(true);
});

test("the status warns before the run ends because nobody types", async ({ page, service }) => {
  const frame = await framed(page, service, "python", "&input=live", "input('A? '); input('B? ')");
  await page.clock.install();
  await stopClock(page);
  await frame.locator("#run").click();
  await expect(transcript(frame)).toHaveText("A? ");
  const status = frame.locator("#status");
  await page.clock.runFor(29_000);
  await expect(status).toHaveText(/^Running… \d+ s$/);
  await page.clock.runFor(1500);
  await expect(status).toHaveText(/^Ends in (29|30) s without input$/);
  await expect(status).toHaveAttribute("aria-live", "polite");
  // The seconds alone are not announced.
  await page.clock.runFor(5000);
  await expect(status).toHaveText(/^Ends in 2[45] s without input$/);
  await expect(status).toHaveAttribute("aria-live", "off");
  await frame.getByRole("textbox", { name: "Input", exact: true }).fill("x");
  await page.keyboard.press("Enter");
  await expect(transcript(frame)).toHaveText("A? x\nB? ");
  await page.clock.runFor(500);
  await expect(status).toHaveText(/^Running… \d+ s$/);
});

test("the status says when the program is compiled", async ({ page, service }) => {
  // The compiler works on each of these values for seconds, and never comes to an end of them.
  const code = `constexpr int f(int n) {
  for (int i = 0; i < 5000; ++i)
    for (int j = 0; j < 1000; ++j) n ^= j;
  return n;
}
template <int N> constexpr int v = f(N) + v<N - 1>;
template <> constexpr int v<0> = 0;
constexpr int all = v<200>;
int main() {}`;
  for (const query of ["&input=live", "&api=run"]) {
    const frame = await framed(page, service, "cpp", query, code);
    await frame.locator("#run").click();
    await expect(frame.locator("#status")).toHaveText(/^Compiling…/);
    await frame.locator("#run").click();
    await expect(frame.locator("#status")).toHaveText(/^Stopped/);
  }
});

test("without a free live run, the input of the box is offered", async ({ page, service }) => {
  const code = "print('got', input())";
  const frame = await framed(page, service, "python", "&input=live", code);
  const json = { error: "all 2 live runs are taken" };
  await page.route("**/api/run", (route) => {
    const isLive = route.request().postData()?.includes('"interactive":true') === true;
    return isLive ? route.fulfill({ status: 503, headers: { "Retry-After": "9" }, json }) : route.continue();
  });
  await frame.locator("#run").click();
  await expect(frame.locator("#status")).toHaveText("All live runs are taken.");
  await expect(frame.getByRole("button", { name: "Run without typing instead" })).toBeVisible();
  await frame.locator("#input-toggle").click();
  await frame.locator("#stdin").fill("the box\n");
  // It says what it does now.
  await frame.getByRole("button", { name: "Run with the input above instead" }).press("Enter");
  await expect(frame.locator(".stdout pre")).toHaveText("got the box\n");
  await expect(frame.locator("#results")).toBeFocused();
  await expect(frame.locator(".offers")).toBeEmpty();
});

test("an offer is there as long as it is right for the program", async ({ page, service }) => {
  const frame = await framed(page, service, "python", "", "try:\n    import turtle\nexcept ImportError:\n    pass\ninput()");
  const [type, draw] = ["Run again and type", "Run and show pictures"];
  const offers = frame.locator(".offers").getByRole("button");
  await frame.locator("#run").click();
  await expect(offers).toHaveText([type, draw]);
  // A person who fills in the box wants that input.
  await frame.locator("#stdin").fill("a");
  await expect(offers).toHaveText([draw]);
  await frame.locator("#stdin").fill("");
  await expect(offers).toHaveText([type, draw]);
  await replaceCode(frame.locator(".cm-content"), "input()");
  await expect(offers).toHaveText([type]);
  await frame.getByRole("button", { name: "Clear", exact: true }).press("Enter");
  await expect(offers).toHaveCount(0);
  await expect(frame.locator("#run")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(offers).toHaveText([type]);
  await expect(frame.locator("#input-hint")).toContainText("there was none");
  // Another program.
  await setFiles(page, "input(2)");
  await expect(offers).toHaveCount(0);
  await expect(frame.locator("#input-hint")).toBeEmpty();
  // The same, before the run has ended.
  const release = await heldRuns(page);
  await frame.locator("#run").click();
  await setFiles(page, "print(1)");
  await expect(frame.locator(".cm-content")).toHaveText("print(1)");
  release();
  expect(await ended(frame)).toContain("exit code 1");
  await expect(offers).toHaveCount(0);
  await expect(frame.locator("#input-hint")).toBeEmpty();
});

test("Stop keeps what was printed in an ordinary run, too", async ({ page, service }) => {
  const frame = await framed(page, service, "python", "", "import time\nprint('before', flush=True)\ntime.sleep(90)");
  // The page cannot know when the program has printed: whoever stops too early tries again.
  await expect(async () => {
    await frame.locator("#run").click();
    await expect(frame.locator("#run-label")).toHaveText("Stop");
    await expect(frame.locator("#status")).toHaveText(/running… \d+ s$/);
    await frame.locator("#run").click();
    await expect(frame.locator("#status")).toHaveText("Stopped.");
    expect(await frame.locator("#streams").textContent()).toContain("before");
  }).toPass();
});

test("Stop says that it waits for the output; a second press does not wait", async ({ page, service }) => {
  const frame = await framed(page, service, "python", "", "import time\ntime.sleep(90)");
  await page.route("**/api/run/*/stop", () => {});
  const [run, status] = [frame.locator("#run"), frame.locator("#status")];
  await run.press("Enter");
  await expect(run).toHaveText("Stop");
  await run.press("Enter");
  await expect(status).toHaveText("Stopping…");
  await expect(status).toHaveAttribute("aria-live", "polite");
  await expect(run).toHaveText("Stop");
  await run.press("Enter");
  await expect(status).toHaveText("Stopped.");
  await expect(status).toHaveAttribute("aria-live", "polite");
  await expect(run).toHaveText("Run");
  await expect(run).toBeFocused();
});

test("on a server that stops no runs, Stop ends them as it can", async ({ page, service }) => {
  const frame = await framed(page, service, "python", "", "import time\ntime.sleep(90)");
  await page.route("**/api/run/*/stop", (route) => route.fulfill({ status: 404, json: { error: "not found" } }));
  await frame.locator("#run").click();
  await expect(frame.locator("#run-label")).toHaveText("Stop");
  await frame.locator("#run").click();
  await expect(frame.locator("#status")).toHaveText("Stopped.");
});
