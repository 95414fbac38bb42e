// The submitted files: their paths, and the likely meaning of a wrong path.
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";

export class Files {
  #texts = new Map();

  /** `root` is the folder that the submission stands in. */
  constructor(root) {
    this.root = root;
    const entries = readdirSync(root, { recursive: true, withFileTypes: true });
    const isFile = (entry) => entry.isFile();
    const path = ({ parentPath, name }) => posix.relative(root, posix.join(parentPath, name));
    this.paths = entries.filter(isFile).map(path).sort();
    this.set = new Set(this.paths);
  }

  has(path) {
    return this.set.has(path);
  }

  bytes(path) {
    if (!this.has(path)) throw new Error(`there is no file "${path}"`);
    return readFileSync(posix.join(this.root, path));
  }

  /** Without a byte order mark. */
  text(path) {
    if (!this.#texts.has(path)) this.#texts.set(path, new TextDecoder().decode(this.bytes(path)));
    return this.#texts.get(path);
  }

  /** The path that was most likely meant, or nothing. */
  nearest(path) {
    const name = posix.basename(path);
    const folded = (text) => text.toLowerCase().replace(/\.[^./]*$/, "");
    let best = null;
    let least = Infinity;
    for (const candidate of this.paths) {
      const other = posix.basename(candidate);
      const apart = Math.min(distance(name, other), distance(folded(name), folded(other)) + 0.5);
      // A wrong folder is likelier than many wrong letters.
      const total = apart + (posix.dirname(candidate) === posix.dirname(path) ? 0 : 0.25);
      const allowed = name.toLowerCase() === other.toLowerCase() ? Infinity : name.length / 3;
      if (apart <= allowed && total < least) [best, least] = [candidate, total];
    }
    return best;
  }
}

/**
 * The path of `target` as it is named in the file `from`, or nothing if it
 * leads out of the submission. A leading slash is the submission's folder.
 */
export function join(from, target) {
  const base = target.startsWith("/") ? "." : posix.dirname(from);
  const path = posix.normalize(posix.join(base, target.replace(/^\/+/, "")));
  return path === ".." || path.startsWith("../") ? null : path;
}

/** `path` as a file next to `from` names it. */
export function relative(from, path) {
  const short = posix.relative(posix.dirname(from), path);
  return short.startsWith(".") ? short : `./${short}`;
}

/** How many letters differ. */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[b.length];
}
