// The link and the snippet that share code and embed the page.

import { expect, test } from "vitest";

import { natural } from "../src/parent/height";
import { downloadName, iframeSnippet, shareUrl } from "../src/share/links";

test("links keep the path prefix, and drop the parameters of this page", () => {
  const page = "https://a.example/run/embed?lang=c&autosave=x&parentOrigin=y#code=z";
  expect(shareUrl(page, "c", "code=abc")).toBe("https://a.example/run/embed?lang=c#code=abc");
  expect(shareUrl("https://a.example/editor?lang=go&languages=c", "go", "x")).toBe("https://a.example/editor?lang=go#x");
});

test("the snippet cannot be broken out of", () => {
  const snippet = iframeSnippet({
    page: "http://a.example/embed",
    language: "cpp",
    title: 'C++ "x" <b>',
    theme: "dark",
    readonly: true,
    height: 480,
    fragment: "code=abc",
  });
  const src = "http://a.example/embed?lang=cpp&amp;theme=dark&amp;readonly=1#code=abc";
  expect(snippet).toContain(`<iframe src="${src}" title="C++ &quot;x&quot; &lt;b> editor"`);
  expect(snippet.endsWith("></iframe>")).toBe(true);
});

test("one file is downloaded under its name, several as an archive", () => {
  expect(downloadName("java", ["src/Main.java"])).toBe("Main.java");
  expect(downloadName("java", ["Main.java", "Shape.java"])).toBe("java.zip");
});

test("the page asks for a height that shows all of it", () => {
  expect(natural(44, 300, 200, false)).toBe(344);
  expect(natural(44, 300, 200, true)).toBe(544);
  expect(natural(44, 10, 0, false)).toBe(160);
  expect(natural(44, 1e9, 0, false)).toBe(10_000);
});
