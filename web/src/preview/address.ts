// Finds the file of a program that an address in one of its pages names.

const ROOT = "http://program.invalid/";

/** A page of the program, and the part of it that the address names; empty if it names none. */
export interface PageAddress {
  path: string;
  fragment: string;
}

/** The file among `paths` that `address` names in the page `from`; `null` if there is none. */
export function fileAt(address: string, from: string, paths: readonly string[]): string | null {
  const path = decoded(resolved(address, from)?.pathname.slice(1) ?? "");
  return paths.includes(path) ? path : null;
}

/** The page among `paths` that `address` names in the page `from`; `null` if there is none. */
export function pageAt(address: string, from: string, paths: readonly string[]): PageAddress | null {
  const url = resolved(address, from);
  if (url === null) return null;
  const path = decoded(url.pathname.slice(1));
  const folder = path === "" || path.endsWith("/") ? `${path}index.html` : path;
  const isPage = /\.html?$/i.test(folder) && paths.includes(folder);
  return isPage ? { path: folder, fragment: url.hash } : null;
}

function resolved(address: string, from: string): URL | null {
  const folder = from.split("/").slice(0, -1).map(encodeURIComponent).join("/");
  const base = folder === "" ? ROOT : `${ROOT}${folder}/`;
  const url = URL.parse(address, base);
  return url?.href.startsWith(ROOT) === true ? url : null;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
