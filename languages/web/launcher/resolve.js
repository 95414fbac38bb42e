// Finds the target of an import, a stylesheet's address or a page's reference among
// the submitted files.
import { existsSync, readdirSync } from "node:fs";
import { builtinModules } from "node:module";
import { posix } from "node:path";
import { join, relative } from "./files.js";
import { localAddress } from "./text.js";

const ENDINGS = [".tsx", ".ts", ".jsx", ".js", ".mjs", ".vue", ".json", ".css"];
// The folder of packages that an operator adds to the image.
const ADDED = "/node_modules";
const SWAPPED = { ".js": [".ts", ".tsx"], ".jsx": [".tsx"], ".mjs": [".mts"] };

/** A file by the rules of addresses: `{path, query, fragment}`, or nothing. */
export function byAddress(files, from, address) {
  const local = localAddress(address);
  for (const name of [local.path, local.raw]) {
    const path = join(from, name);
    // Bundlers serve this folder as the root.
    const paths = name.startsWith("/") ? [path, `public/${path}`] : [path];
    const found = path == null ? null : paths.find((one) => files.has(one));
    if (found != null) return { ...local, path: found };
  }
  return null;
}

/** A file by the rules of bundlers: endings and folders may be left out. */
export function byName(files, from, name) {
  const [, bare, query] = /^(.*?)(\?[a-z&]+)?$/s.exec(name);
  for (const [target, rest] of [[name, ""], [bare, query ?? ""]]) {
    const path = target.startsWith("@/") ? null : join(from, target);
    const starts = target.startsWith("@/") ? [`src/${target.slice(2)}`, target.slice(2)] : [path];
    for (const start of starts) {
      const found = start == null ? null : withEnding(files, start);
      if (found != null) return { path: found, query: rest, fragment: "" };
    }
  }
  return byAddress(files, from, name);
}

function withEnding(files, start) {
  const ending = posix.extname(start);
  const swapped = (SWAPPED[ending] ?? []).map((other) => start.slice(0, -ending.length) + other);
  const candidates = [
    start,
    ...ENDINGS.map((other) => start + other),
    ...swapped,
    ...ENDINGS.map((other) => posix.join(start, `index${other}`)),
  ];
  return candidates.find((path) => files.has(path)) ?? null;
}

/** Whether an absolute path is that of a file of a package that an operator added. */
export const isAdded = (path) => path.startsWith(`${ADDED}/`);

/** Whether an import names a package that an operator added, or a module of it. */
export function isOfAdded(name) {
  const [, ofPackage] = /^((?:@[^/]+\/)?\w[^/]*)(?:\/|$)/.exec(name) ?? [];
  return ofPackage != null && existsSync(posix.join(ADDED, ofPackage));
}

/** The message about a file that is not there. */
export function missing(files, from, name) {
  const local = localAddress(name);
  const wanted = join(from, local.path);
  const near = wanted == null ? null : files.nearest(wanted);
  return {
    text: `there is no file "${local.path}"`,
    note: near == null ? listed(files) : `did you mean "${relative(from, near)}"?`,
  };
}

function listed(files) {
  const shown = files.paths.slice(0, 10);
  const more = files.paths.length - shown.length;
  return `the files are: ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** The message about a package that is not there. */
export function missingPackage(files, from, name, packages) {
  const near = byName(files, from, `./${name}`);
  if (near != null) {
    return {
      text: `there is no package "${name}"`,
      note: `for the file next to this one write "${relative(from, near.path)}"`,
    };
  }
  if (name.startsWith("node:") || builtinModules.includes(name)) {
    return { text: `"${name}" is a part of Node.js, and this runs in a browser`, note: null };
  }
  const names = [...Object.keys(packages), ...added()];
  const note = names.length > 0
    ? `the packages are: ${names.join(", ")}`
    : "a page has no packages: name a file, as in \"./file.js\", or a whole address";
  return { text: `there is no package "${name}"`, note };
}

function added() {
  const inFolder = (folder) => (existsSync(folder) ? readdirSync(folder).sort() : []);
  const names = inFolder(ADDED).flatMap((name) =>
    name.startsWith("@") ? inFolder(posix.join(ADDED, name)).map((one) => `${name}/${one}`) : name,
  );
  return names.filter((name) => !name.startsWith("."));
}
