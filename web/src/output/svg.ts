// Whether a browser draws an SVG of a program soon. It makes the picture in the
// page's own thread, and a few references that multiply keep it there for good.

/** What may be drawn, in characters: each as often as it is drawn. */
const MAX_COST = 6_000_000;
/** The least of an element. */
const ELEMENT_COST = 300;
/** A character of text has an outline and a place of its own. */
const TEXT_COST = 15;
/** A character of a rule may be looked at for each element. */
const RULE_COST = 1000;
/** A dashed line can have a million dashes. */
const DASHED_COST = 40_000;
const MAX_DEPTH = 200;

/** Elements that take any time, or draw others any number of times. */
const UNBOUNDED = /^(?:filter|foreignObject|mask|marker|set|animate\w*)$/;
/** What is in them is not drawn, so nothing inherits what is written at them. */
const SHAPE = /^(?:path|rect|circle|ellipse|line|polyline|polygon)$/;
/** In rules: comments, texts and colours. They are read from the start, so none is within another. */
const HARMLESS_IN_RULES = /\/\*[^&]*?\*\/|"[^"\r\n\f&\\]*"|'[^'\r\n\f&\\]*'|\b(?:rgb|hsl)a?\([\d.,%\s]*\)/gi;
/** Rules without dashes, references and what elements do not inherit by themselves; they look at one element each. */
const RULES = /^\s*(?:[\w*.#,-][\w*.#,\s-]*\{(?:(?!dash|inherit|\/\*)[^{}()@\\&"'])*\}\s*)*$/i;
/** In an attribute: the same as such elements or rules, or another way to write anything. */
const UNBOUNDED_STYLE = new RegExp(
  [
    "\\\\|/\\*|\\bvar\\(",
    "(?:(?<!color-interpolation-)filter|mask|marker|animation)[\\w-]{0,20}\\s*:(?!\\s*none\\s*(?:;|$))",
    "(?<!\\b(?:fill|stroke|color|font|text)[\\w-]*\\s*:\\s*)\\binherit\\b",
  ].join("|"),
  "i",
);
const DASHED = /dash(?!offset\s*:|array\s*:\s*(?:none|0)\s*(?:;|$))/i;
/** A reference, with the id if it is certain which one is meant. */
const REFERENCE = /url\(\s*(?:(["']?)#([^\s"'()%]+)\1\s*\))?/gi;
/** One that all elements in a group may inherit. */
const INHERITED_REFERENCE = /(?<!\bclip-path\s*:\s*)url\(/i;
/** Entities that XML does not have, but the document type of XHTML does. */
const OTHER_ENTITY = /&(?!(?:#\w+|lt|gt|quot|apos|amp);)/;
/** No style, whatever is written there. */
const NAME = /^(?:id|class|role|(?:aria|data)-[\w-]*)$/;
/** In this order: comments, CDATA, instructions, a document type without entities, ends, elements, text. */
const TOKEN = [
  "<!--[^]*?-->",
  "<!\\[CDATA\\[([^]*?)\\]\\]>",
  "<\\?(?!xml\\S)[^]*?\\?>",
  "<!DOCTYPE[^[>]*>",
  "</[^>]*>",
  `<(?:[\\w.-]+:)?([\\w.-]+)((?:\\s+[^\\s=<>"']+\\s*=\\s*(?:"[^"<]*"|'[^'<]*'))*)\\s*(/?)>`,
  "([^<]+)",
].join("|");
const ATTRIBUTE = /([^\s="']+)\s*=\s*("[^"]*"|'[^']*')/g;
const RASTER = /^\s*data:image\/(?:png|jpeg|gif|webp)[;,]/i;

interface Drawn {
  name: string;
  cost: number;
  /** The ids of elements that are drawn with it. */
  uses: string[];
  children: Drawn[];
}

/** Those with the same id are the children of one: which of them is meant is not clear. */
type Ids = Map<string, Drawn>;

const drawnAs = (name: string, cost: number): Drawn => ({ name, cost, uses: [], children: [] });

/** Whether it is drawn within seconds; `false` also if that is not certain. */
export function isSoonDrawn(svg: string): boolean {
  const ids: Ids = new Map();
  const root = readSvg(svg, ids);
  return root !== null && costOf(root, ids) <= MAX_COST;
}

function readSvg(svg: string, ids: Ids): Drawn | null {
  const root = drawnAs("", 0);
  const open = [root];
  let cost = 0;
  const next = new RegExp(TOKEN, "y");
  while (next.lastIndex < svg.length) {
    const found = next.exec(svg);
    const parent = open.at(-1);
    if (found === null || parent === undefined || open.length > MAX_DEPTH) return null;
    const [token, data = "", name, attributes = "", closed, text = data] = found;
    if (token.startsWith("</")) open.pop();
    else if (name === undefined) {
      if (parent.name === "style" && !areRules(text)) return null;
      parent.cost += (parent.name === "style" ? RULE_COST : TEXT_COST) * text.trim().length;
    } else {
      const read = elementOf(name, attributes, ids);
      cost += read?.cost ?? Infinity;
      if (read === null || cost > MAX_COST) return null;
      parent.children.push(read);
      if (closed === "") open.push(read);
    }
  }
  return root;
}

/** Whether these are rules that cost little. The length is looked at first: comments without an end take its square. */
function areRules(text: string): boolean {
  return text.length * RULE_COST <= MAX_COST && RULES.test(text.replace(HARMLESS_IN_RULES, " "));
}

function elementOf(name: string, attributes: string, ids: Ids): Drawn | null {
  if (UNBOUNDED.test(name) || OTHER_ENTITY.test(attributes)) return null;
  const read = drawnAs(name, Math.max(ELEMENT_COST, attributes.length));
  for (const [, key = "", quoted = ""] of attributes.matchAll(ATTRIBUTE)) {
    const own = key.replace(/^.*:/, "");
    const value = decoded(quoted.slice(1, -1)).trim();
    if (own === "id") {
      const same = ids.get(value) ?? drawnAs("", 0);
      same.children.push(read);
      ids.set(value, same);
    }
    if (!NAME.test(key) && !(own === "href" ? addLink(read, value) : addStyle(read, own, value))) return null;
  }
  return read;
}

/** Whether a link can be counted. */
function addLink(read: Drawn, value: string): boolean {
  // A picture within it may be another SVG. Browsers leave out breaks of the line.
  if (/data:/i.test(value.replace(/[\t\r\n]/g, ""))) return RASTER.test(value);
  if (read.name === "a" || !value.startsWith("#")) return true;
  read.uses.push(value.slice(1));
  // Another way to write an id.
  return !/[\s%]/.test(value);
}

/** Whether an attribute can be counted. */
function addStyle(read: Drawn, own: string, value: string): boolean {
  const style = own === "style" ? value : `${own}:${value}`;
  if (UNBOUNDED_STYLE.test(style) || /data:/i.test(value)) return false;
  const isShape = SHAPE.test(read.name);
  if (!isShape && INHERITED_REFERENCE.test(style)) return false;
  for (const [, , id] of value.matchAll(REFERENCE)) {
    if (id === undefined) return false;
    read.uses.push(id);
  }
  if ((own === "style" || /dash/i.test(own)) && DASHED.test(style)) {
    if (!isShape) return false;
    read.cost += DASHED_COST;
  }
  if (/^(?:d?[xy]|rotate)$/.test(own)) read.cost += TEXT_COST * value.length;
  return true;
}

/** The cost of all that is drawn with it; infinite if that goes round, or too deep. */
function costOf(drawn: Drawn, ids: Ids, known = new Map<Drawn, number>(), depth = 0): number {
  const found = known.get(drawn);
  if (found !== undefined) return found;
  known.set(drawn, Infinity);
  if (depth > 2 * MAX_DEPTH) return Infinity;
  let { cost } = drawn;
  const used = drawn.uses.flatMap((id) => ids.get(id) ?? []);
  for (const next of [...drawn.children, ...used]) cost += costOf(next, ids, known, depth + 1);
  known.set(drawn, cost);
  return cost;
}

/** The value of an attribute. */
function decoded(text: string): string {
  const names: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text.replace(/&(#?)(\w+);/g, (_, sign: string, name: string) => {
    if (sign === "") return names[name] ?? "";
    const code = Number(name.replace("x", "0x"));
    return code <= 0x10ffff ? String.fromCodePoint(code) : "";
  });
}
