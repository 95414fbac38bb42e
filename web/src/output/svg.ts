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
/** Rules without dashes and references, for elements that are looked at one by one. */
const RULES = /^\s*(?:[\w*.#,-][\w*.#,\s-]*\{(?:(?!dash)[^{}()@\\&])*\}\s*)*$/i;
/** In an attribute: the same as such elements, or another way to write anything. */
const UNBOUNDED_STYLE = /\\|\/\*|(?:filter|mask|marker|animation)[\w-]{0,20}\s*:|\bvar\(/i;
/** In this order: comments, CDATA, the declaration, a document type without entities, ends, elements, text. */
const TOKEN = [
  "<!--[^]*?-->",
  "<!\\[CDATA\\[([^]*?)\\]\\]>",
  "<\\?xml\\s[^]*?\\?>",
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
      if (parent.name === "style" && !RULES.test(text)) return null;
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

function elementOf(name: string, attributes: string, ids: Ids): Drawn | null {
  if (UNBOUNDED.test(name)) return null;
  const read = drawnAs(name, Math.max(ELEMENT_COST, attributes.length));
  for (const [, key = "", quoted = ""] of attributes.matchAll(ATTRIBUTE)) {
    const own = key.replace(/^.*:/, "");
    const value = decoded(quoted.slice(1, -1)).trim();
    const isLink = own === "href";
    if (own === "filter" || UNBOUNDED_STYLE.test(value)) return null;
    // A picture within it may be another SVG.
    if (/data:/i.test(value) && !(isLink && RASTER.test(value))) return null;
    if (own === "id") {
      const same = ids.get(value) ?? drawnAs("", 0);
      same.children.push(read);
      ids.set(value, same);
    }
    if (isLink && name !== "a" && value.startsWith("#")) read.uses.push(value.slice(1));
    for (const [, id = ""] of value.matchAll(/url\(\s*["']?#([^"')]*)/gi)) read.uses.push(id.trim());
    if (/dash/i.test(own === "style" ? value : own)) read.cost += DASHED_COST;
    if (/^(?:d?[xy]|rotate)$/.test(own)) read.cost += TEXT_COST * value.length;
  }
  return read;
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
