// The pages of a program that addresses name.

import { expect, test } from "vitest";

import { pageAt } from "../src/preview/address";

const paths = ["index.html", "about.html", "docs/index.html", "docs/a b.htm", "main.js", "App.jsx"];

const cases: readonly [address: string, from: string, page: string | null][] = [
  ["about.html", "index.html", "about.html"],
  ["./about.html?q=1#top", "index.html", "about.html#top"],
  ["/about.html", "docs/index.html", "about.html"],
  ["../about.html", "docs/index.html", "about.html"],
  ["a%20b.htm", "docs/index.html", "docs/a b.htm"],
  ["docs/", "index.html", "docs/index.html"],
  ["/", "docs/index.html", "index.html"],
  ["about.html", "App.jsx", "about.html"],
  ["main.js", "index.html", null],
  ["other.html", "index.html", null],
  ["about.html", "docs/index.html", null],
  ["https://example.com/about.html", "index.html", null],
  ["//example.com/about.html", "index.html", null],
  ["%", "index.html", null],
  ["http://[", "index.html", null],
];

test.each(cases)("%j in %j is %j", (address, from, page) => {
  const found = pageAt(address, from, paths);
  expect(found === null ? null : found.path + found.fragment).toBe(page);
});
