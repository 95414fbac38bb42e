// Terminal text: its colours, without cursor moves, and with lines as they were
// written last.

import { describe, expect, test } from "vitest";

import { PLAIN, Terminal, pieces, plainText } from "../src/output/ansi";
import { PAGES, contrast, indexed, readable } from "../src/output/colours";
import { LINE_CUT, hiddenWords, nextOf, shownOf } from "../src/output/limits";
import { checkLinear, repeated } from "./linear";

const ESC = "\u001b";

/** The text as it is shown, with long lines cut. */
const cut = (text: string) =>
  pieces(text, LINE_CUT)
    .map((piece) => piece.text)
    .join("");

describe("text", () => {
  test.each([
    ["nothing", "", ""],
    ["plain", "a\tb\nc", "a\tb\nc"],
    ["Windows line ends", "a\r\nb\r\n", "a\nb\n"],
    ["colours", `${ESC}[31mred${ESC}[0m end`, "red end"],
    ["a progress bar", "10%\r50%\r100%\ndone\n", "100%\ndone\n"],
    ["a shorter text over a longer", "downloading\rdone\n", "doneloading\n"],
    ["the same with the rest erased", `downloading\rdone${ESC}[K\n`, "done\n"],
    ["a line erased", `abc${ESC}[2Kdef\n`, "def\n"],
    ["backspace", "abc\b\bX\n", "aXc\n"],
    ["backspace at the beginning", "\b\ba\n", "a\n"],
    ["a carriage return at the end", "abc\r", "abc"],
    ["a link", `${ESC}]8;;http://x.example${ESC}\\word${ESC}]8;;${ESC}\\ end`, "word end"],
    ["a title", `${ESC}]0;title\u0007text`, "text"],
    ["a title that never ends", `${ESC}]0;title\ntext`, "\ntext"],
    ["cursor moves", `a${ESC}[2Jb${ESC}[1;1Hc${ESC}[?25ld`, "abcd"],
    ["a sequence cut off", `abc${ESC}[3`, "abc"],
    ["an escape alone", `abc${ESC}`, "abc"],
    ["one-byte introducer", "a\u009b31mb", "ab"],
    ["other controls", "a\u0000b\u0007c\u007fd", "abcd"],
    ["characters beyond the plane", "😀\r名\n", "名\n"],
    ["markup stays text", "<b>&amp;\r<i>\n", "<i>&amp;\n"],
  ])("%s", (_, text, expected) => {
    expect(plainText(text)).toBe(expected);
  });
});

describe("output in pieces is read as in one, however it is cut", () => {
  const whole = (text: string) => pieces(text).map(({ text, look }) => [text, JSON.stringify(look)]);
  const cut = (text: string, at: readonly number[]) => {
    const terminal = new Terminal();
    const finished: ReturnType<typeof pieces> = [];
    let line: ReturnType<typeof pieces> = [];
    [0, ...at].forEach((from, index) => {
      const written = terminal.write(text.slice(from, at[index] ?? text.length));
      finished.push(...written.finished);
      line = written.line;
    });
    const joined: [string, string][] = [];
    for (const { text, look } of [...finished, ...line]) {
      const key = JSON.stringify(look);
      const last = joined.at(-1);
      if (last?.[1] === key) last[0] += text;
      else joined.push([text, key]);
    }
    return joined;
  };
  test.each([
    ["colours", `a${ESC}[31mred\n${ESC}[1;32mgreen${ESC}[0m end`],
    ["line ends", "a\r\nb\rc\r\n\r\nd"],
    ["written over", `10%\r50%\r${ESC}[Kdone\nab\b\bX`],
    ["a link", `${ESC}]8;;http://x.example${ESC}\\word${ESC}]8;;${ESC}\\ end`],
    ["one-byte introducer", "a\u009b31mb\n"],
  ])("%s", (_, text) => {
    for (let at = 0; at <= text.length; at += 1) expect(cut(text, [at]), `cut at ${at}`).toEqual(whole(text));
    expect(cut(text, Array.from({ length: text.length - 1 }, (_, index) => index + 1))).toEqual(whole(text));
  });
  test("a sequence without end is not kept for ever", () => {
    expect(cut(`${ESC}]0;${"x".repeat(5000)}`, [2, 4500])).toEqual([["x".repeat(504), "{}"]]);
  });
  const inOne = (text: string) => new Terminal().write(text);
  test.each([
    ["abcdef", "abc+3"],
    ["abcdef\rX", "Xbc+3"],
    ["abcdef\b\bXYZ", "abc+4"],
    [`abcdef\b\b${ESC}[Kxy`, "abc+3"],
    [`abcdef\b\b\b\b\b${ESC}[Kxyz`, "axy+1"],
    [`abcdef\b${ESC}[2Kxyz\rX`, "Xyz"],
    ["ab\rabcd\n😀😀\b😀\n", "abc+1\n😀+2\n"],
  ])("beyond its cut, only the length of a line is kept: %j", (text, expected) => {
    const cut = { length: 3, note: (n: number) => `+${n}` };
    const shown = (parts: readonly { text: string }[]) => parts.map((part) => part.text).join("");
    expect(shown(pieces(text, cut))).toBe(expected);
    const terminal = new Terminal(PLAIN, cut);
    const written = [...text].map((character) => terminal.write(character));
    expect(shown([...written.flatMap(({ finished }) => finished), ...(written.at(-1)?.line ?? [])])).toBe(expected);
  });
  for (const end of ["", "\b", `${ESC}[31m`]) {
    const inPieces = (text: string) => {
      const terminal = new Terminal(PLAIN, LINE_CUT);
      for (let at = 0; at < text.length; at += 100) terminal.write(text.slice(at, at + 100) + end);
    };
    checkLinear(`a line that grows, with ${JSON.stringify(end)}`, inPieces, repeated("x"));
  }
  checkLinear("escapes without end", inOne, repeated(`${ESC}[0`));
  checkLinear("a title without end", inOne, repeated("x", `${ESC}]`));
});

describe("looks", () => {
  const looks = (text: string) => pieces(text).map((piece) => piece.look);

  test("of the usual codes", () => {
    expect(pieces(`${ESC}[1;3;4;9mA${ESC}[22;23;24;29mB`)).toEqual([
      { text: "A", look: { isBold: true, isItalic: true, isUnderlined: true, isStruck: true } },
      { text: "B", look: {} },
    ]);
    expect(looks(`${ESC}[7mA${ESC}[mB`)).toEqual([{ isInverse: true }, {}]);
    expect(looks(`${ESC}[31;42mA${ESC}[39mB${ESC}[49mC`)).toEqual([
      { foreground: indexed(1), background: indexed(2) },
      { background: indexed(2) },
      {},
    ]);
    expect(looks(`${ESC}[91;107mA`)).toEqual([{ foreground: indexed(9), background: indexed(15) }]);
  });

  test("of 256 and of true colours", () => {
    expect(looks(`${ESC}[38;5;196mA`)).toEqual([{ foreground: { red: 255, green: 0, blue: 0 } }]);
    expect(looks(`${ESC}[48;5;244mA`)).toEqual([{ background: { red: 128, green: 128, blue: 128 } }]);
    const orange = { foreground: { red: 255, green: 128, blue: 0 } };
    for (const code of ["38;2;255;128;0", "38:2:255:128:0", "38:2::255:128:0"]) {
      expect(looks(`${ESC}[${code}mA`), code).toEqual([orange]);
    }
    expect(looks(`${ESC}[38;5;9;1mA`)).toEqual([{ foreground: indexed(9), isBold: true }]);
    expect(looks(`${ESC}[38mA`)).toEqual([{}]);
  });

  test("of characters that were written over", () => {
    expect(pieces(`${ESC}[31mabc\r${ESC}[32mx\n`)).toEqual([
      { text: "x", look: { foreground: indexed(2) } },
      { text: "bc", look: { foreground: indexed(1) } },
      { text: "\n", look: {} },
    ]);
  });
});

test("every colour is readable on both pages, and on every background", () => {
  const all = Array.from({ length: 256 }, (_, index) => indexed(index));
  // Of each background the worst: 66,000 expectations would take seconds.
  for (const background of [PAGES.light, PAGES.dark, ...all]) {
    const contrasts = all.map((asked) => contrast(readable(asked, background), background));
    expect(Math.min(...contrasts), JSON.stringify(background)).toBeGreaterThanOrEqual(4.5);
  }
});

for (const part of ["\r", "a\b", `${ESC}[31mx`, `${ESC}]`, "x"]) {
  checkLinear(JSON.stringify(part), pieces, repeated(part));
}

describe("a long text", () => {
  test("a short one is shown whole", () => {
    const text = "line\n".repeat(5000);
    expect(shownOf(text)).toEqual({ head: text, hidden: "", tail: "" });
  });

  test("beginning and end of many lines; no character is lost", () => {
    const text = Array.from({ length: 100_000 }, (_, index) => `${index}\n`).join("");
    const { head, hidden, tail } = shownOf(text);
    expect(head + hidden + tail).toBe(text);
    expect(hiddenWords(head)).toBe("4,000 lines are not shown here.");
    expect(hiddenWords(tail)).toBe("1,000 lines are not shown here.");
    expect(hiddenWords(hidden)).toBe("95,000 lines are not shown here.");
    expect(tail.startsWith("99000\n")).toBe(true);
    expect(hiddenWords(nextOf(hidden))).toBe("5,000 lines are not shown here.");
  });

  test("one endless line is shown from its beginning", () => {
    const text = "😀".repeat(500_000);
    const { head, hidden, tail } = shownOf(text);
    expect(head + hidden + tail).toBe(text);
    expect(head.length).toBeLessThanOrEqual(500_000);
    expect(cut(head).length).toBeLessThan(LINE_CUT.length + 200);
    for (let left = hidden; left !== ""; ) {
      const part = nextOf(left);
      expect(part.length).toBeGreaterThan(0);
      left = left.slice(part.length);
    }
  });

  test("a long line among short ones says what is missing", () => {
    const note = " … 1,000 more characters in this line are not shown";
    const check = (text: string, expected: string) => expect(cut(text)).toBe(expected);
    check(`a\n${"b".repeat(6000)}\nc`, `a\n${"b".repeat(5000)}${note}\nc`);
    // In pieces of several colours, of which one ends at the cut.
    check(`${"b".repeat(4000)}\u001b[31m${"c".repeat(1000)}\u001b[0m${"d".repeat(1000)}`, `${"b".repeat(4000)}${"c".repeat(1000)}${note}`);
  });

  test("the note has no colour", () => {
    const [kept, note] = pieces(`\u001b[31m${"b".repeat(6000)}`, LINE_CUT);
    expect([kept?.text.length, note?.look]).toEqual([5000, {}]);
  });

  test("a line that was written over counts with the characters that are left of it", () => {
    const bar = Array.from({ length: 101 }, (_, done) => `\r[${"#".repeat(done / 2).padEnd(50)}] ${done}%`).join("");
    expect(cut(bar)).toBe(`[${"#".repeat(50)}] 100%`);
  });
});
