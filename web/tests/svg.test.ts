// SVG of programs: what a browser draws soon is shown as an image.

import { expect, test } from "vitest";

import { isSoonDrawn } from "../src/output/svg";
import { checkLinear, repeated } from "./linear";

const svg = (content: string, more = "") =>
  `<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN"\n "x.dtd">\n<svg xmlns="x" xmlns:xlink="y"${more}>${content}</svg>`;
const rect = '<rect width="9" height="9"/>';
/** Each level draws the one before it ten times. */
const tower = (levels: number, by: (id: string) => string, group = "g") =>
  Array.from({ length: levels }, (_, level) => {
    const content = level === 0 ? rect : by(`a${level - 1}`).repeat(10);
    return `<${group} id="a${level}">${content}</${group}>`;
  }).join("");
const use = (id: string) => `<use href="#${id}"/>`;

test.each<[string, string, boolean]>([
  ["shapes", rect.repeat(9000), true],
  ["more shapes", rect.repeat(30_000), false],
  ["glyphs", `<defs><path id="a" d="${"M0 0".repeat(99)}"/></defs>${'<use xlink:href="#a" x="1"/>'.repeat(3000)}`, true],
  ["references that multiply", tower(4, use) + use("a3"), true],
  ["references that multiply further", tower(6, use) + use("a5"), false],
  ["the same with quotes of the other kind", tower(6, (id) => `<use xlink:href = '#${id}' />`), false],
  ["the same in characters by number", tower(6, (id) => `<use href="&#x0000000000023;&#97;${id.slice(1)}"/>`), false],
  ["the same by another prefix", tower(6, (id) => `<s:use href="#${id}"/>`), false],
  ["the same with an id that is there twice", tower(6, use) + '<g id="a4"/>', false],
  ["patterns in patterns", tower(6, (id) => `<rect fill="url(#${id})"/>`, "pattern"), false],
  ["the same in a style", tower(6, (id) => `<rect style="fill: URL( '#${id}' )"/>`, "pattern"), false],
  ["clips of clips", tower(6, (id) => `<rect clip-path="url(#${id})"/>`, "clipPath"), false],
  ["a long path that is drawn often", `<path id="a" d="${"M0 0".repeat(9999)}"/>${use("a").repeat(999)}`, false],
  ["a reference to itself", `<g id="a">${use("a")}</g>`, false],
  ["a link to what is around it", '<g id="a"><a href="#a"/></g>', true],
  ["deep groups", "<g>".repeat(500) + "</g>".repeat(500), false],
  ["a long chain", Array.from({ length: 9999 }, (_, i) => `<g id="a${i + 1}">${use(`a${i}`)}</g>`).join(""), false],
  ["a few dashed lines", '<path style="stroke-dasharray: 5,2"/>'.repeat(50), true],
  ["many dashed lines", '<path stroke-dasharray="0.001"/>'.repeat(200), false],
  ["text", `<text x="1">${"word ".repeat(999)}</text>`, true],
  ["a long text", `<text>${"word ".repeat(99_999)}</text>`, false],
  ["a place of each letter", `<text x="${"1 ".repeat(300_000)}">a</text>`, false],
  ["a raster picture", '<image href="data:image/png;base64,AAAA"/>', true],
  ["an SVG in it", '<image href="data:image/svg+xml,x"/>', false],
  ["an SVG behind it", '<g style="background: url(data:image/svg+xml,x)"/>', false],
  ["a sheet for it", '<?xml-stylesheet href="data:text/css,x"?>', false],
  ["matplotlib's rules", '<style type="text/css">*{stroke-linejoin: round; stroke-linecap: butt}</style>', true],
  ["rules for classes", "<style><![CDATA[ .a, .b { fill: red }\n#c{fill:blue} ]]></style>", true],
  ["many rules", `<style>${"*{fill:red}".repeat(999)}</style>`, false],
  ["rules with references", "<style>*{fill:url(#a)}</style>", false],
  ["the same in other characters", "<style>*{fill:u\\72l(#a)}</style>", false],
  ["the same in others", "<style>*{fill:&#117;rl(#a)}</style>", false],
  ["rules that look far", "<style>g ~ g{fill:red}</style>", false],
  ["rules with dashes", "<style>*{stroke-dasharray:0.001}</style>", false],
  ["a filter", '<filter id="a"/>', false],
  ["a filter without an element", '<g filter="blur(99px)"/>', false],
  ["a filter in a style", '<g style="filter/**/: blur(99px)"/>', false],
  ["another language in it", "<foreignObject/>", false],
  ["markers", "<marker/>", false],
  ["an animation", "<animateTransform/>", false],
  ["comments and metadata", "<!-- <filter/> --><metadata><rdf:RDF><cc:Work/></rdf:RDF></metadata>", true],
  ["no end", "<g a='1", false],
])("%s", (_, content, expected) => {
  expect(isSoonDrawn(svg(content))).toBe(expected);
});

test("entities of its own are not expanded", () => {
  expect(isSoonDrawn('<!DOCTYPE svg [<!ENTITY a "b">]><svg>&a;</svg>')).toBe(false);
});

for (const [part, before = ""] of [
  [rect], ["<"], ["<!--"], [" ", "<svg"], [' a="b"', "<svg"], ["a", "<svg "], ["filter", '<svg a="'], ["url(", '<svg a="'],
  ['<g id="a"/><use href="#a"/>'], [" ", "<style>"], ["a{}", "<style>"], ["a", "<style>"], ["&#", '<svg a="'],
] as const) {
  checkLinear(`${before}${part}`, isSoonDrawn, repeated(part, before, '"></svg>'));
}
