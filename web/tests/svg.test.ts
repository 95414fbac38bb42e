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
  ["a pattern that each shape of a group inherits", `<g fill="url(#a)">${rect.repeat(10)}</g>`, false],
  ["the same in a style", `<g style="clip-path:url(#b);stroke:url(#a)">${rect.repeat(10)}</g>`, false],
  ["the same by a reference to a group", '<use fill="url(#a)" href="#b"/>', false],
  ["the same around a pattern", `<svg stroke="url(#a)"><pattern id="b">${rect}</pattern></svg>`, false],
  ["the same for letters", '<text fill="url(#a)">a</text>', false],
  ["a pattern for a shape", `<pattern id="a">${rect}</pattern><path style="fill: url(#a); opacity: 0.5"/>`, true],
  ["a clip of a group", `<clipPath id="a"/><g clip-path="url(#a)"><g style="clip-path: url(#a)"/></g>`, true],
  ["a clip that is inherited", `<g clip-path="url(#a)"><path clip-path="inherit"/></g>`, false],
  ["a path that is", `<g style="d:path('M0 0')"><path style="all: inherit"/></g>`, false],
  ["the same by a rule", "<style>path{d:inherit}</style>", false],
  ["what is inherited anyway", '<g fill="inherit" style="font-family:inherit"/>', true],
  ["clips of clips", tower(6, (id) => `<rect clip-path="url(#${id})"/>`, "clipPath"), false],
  ["a long path that is drawn often", `<path id="a" d="${"M0 0".repeat(9999)}"/>${use("a").repeat(999)}`, false],
  ["a reference to itself", `<g id="a">${use("a")}</g>`, false],
  ["an id in another spelling", '<use href="#%61"/>', false],
  ["one with a break", '<use href="#&#10;a"/>', false],
  ["one with an entity of XHTML", '<use href="&num;a"/>', false],
  ["one in a style", '<path fill="url(#%61)"/>', false],
  ["one with a break in a style", `<path fill="url('#&#9;a')"/>`, false],
  ["a link to what is around it", '<g id="a"><a href="#a"/></g>', true],
  ["deep groups", "<g>".repeat(500) + "</g>".repeat(500), false],
  ["a long chain", Array.from({ length: 9999 }, (_, i) => `<g id="a${i + 1}">${use(`a${i}`)}</g>`).join(""), false],
  ["a few dashed lines", '<path style="stroke-dasharray: 5,2"/>'.repeat(50), true],
  ["many dashed lines", '<path stroke-dasharray="0.001"/>'.repeat(200), false],
  ["dashes that each line of a group inherits", '<g stroke-dasharray=".02"/>', false],
  ["the same in a style", '<use style="fill:none;stroke-dasharray:.02"/>', false],
  ["no dashes", '<g style="stroke-dasharray:none;stroke-dashoffset:0" stroke-dasharray="0"/>'.repeat(200), true],
  ["text", `<text x="1">${"word ".repeat(999)}</text>`, true],
  ["a long text", `<text>${"word ".repeat(99_999)}</text>`, false],
  ["a place of each letter", `<text x="${"1 ".repeat(300_000)}">a</text>`, false],
  ["a raster picture", '<image href="data:image/png;base64,AAAA"/>', true],
  ["an SVG in it", '<image href="data:image/svg+xml,x"/>', false],
  ["one with a break in its address", '<image href="da&#10;ta:image/svg+xml,x"/>', false],
  ["an SVG behind it", '<g style="background: url(data:image/svg+xml,x)"/>', false],
  ["a sheet for it", '<?xml-stylesheet href="data:text/css,x"?>', false],
  ["other instructions", '<?xpacket begin=""?>', true],
  ["matplotlib's rules", '<style type="text/css">*{stroke-linejoin: round; stroke-linecap: butt}</style>', true],
  ["rules for classes", "<style><![CDATA[ .a, .b { fill: red }\n#c{fill:blue} ]]></style>", true],
  ["comments and colours in rules", "<style>/* it's */a/**/{fill:rgb(1,2,3);/* url(#a) */font:'A /* B'}</style>", true],
  ["rules between comments", "<style>/* */*{fill:url(#a)}/* */</style>", false],
  ["rules between the same as texts", `<style>*{font:"/*";fill:url(#a);font:"*/"}</style>`, false],
  ["rules between the same in a line", `<style>*{font:"/*\n;fill:url(#a);font:*/}</style>`, false],
  ["rules after an end by number", "<style>/* &#42;/*{fill:url(#a)}/* */</style>", false],
  ["rules after an end of two parts", "<style>a{b:/*}<![CDATA[/*/*{fill:url(#a)}/* */]]></style>", false],
  ["many rules", `<style>${"*{fill:red}".repeat(999)}</style>`, false],
  ["rules with references", "<style>*{fill:url(#a)}</style>", false],
  ["the same in other characters", "<style>*{fill:u\\72l(#a)}</style>", false],
  ["the same in others", "<style>*{fill:&#117;rl(#a)}</style>", false],
  ["rules that look far", "<style>g ~ g{fill:red}</style>", false],
  ["rules with dashes", "<style>*{stroke-dasharray:0.001}</style>", false],
  ["a filter", '<filter id="a"/>', false],
  ["a filter without an element", '<g filter="blur(99px)"/>', false],
  ["none of them", '<g filter="none" style="marker:none;mask : none ; color-interpolation-filters:sRGB"/>', true],
  ["a filter after none", '<g style="filter:none;filter:blur(99px)"/>', false],
  ["names", '<g id="a\\b" class="mask:" aria-label="Data: a; unmasked: a" data-a="url(" />', true],
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
  ["/*", "<style>"], ["/**/", "<style>"], ["'", "<style>"], ["<?a"], ["inherit", '<svg a="'], [" inherit", '<svg a="'],
  ["a", '<svg style="fill'],
] as const) {
  checkLinear(`${before}${part}`, isSoonDrawn, repeated(part, before, '"></svg>'));
}
