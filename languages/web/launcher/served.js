// Submitted files that scripts ask for by address while the page is open, as
// they would get them from a server: fetch(), XMLHttpRequest and workers.
import { isUtf8 } from "node:buffer";
import { posix } from "node:path";
import { asScript, type } from "./text.js";

/** Also by libraries which the script names alone: those ask by XMLHttpRequest. */
const ASKS =
  /\b(fetch|axios)\s*\(|\bXMLHttpRequest\b|\bnew\s+(Shared)?Worker\s*\(|(\$|\bjQuery|\baxios)\.(get|getJSON|ajax)\s*(<[^()]*>\s*)?\(|\.load\s*\(\s*["'`]/;
const CODE = /\.([mc]?[jt]sx?|css|vue)$/i;

/** The script element that serves the files to the page `page`, or nothing. */
export function served(files, page) {
  const texts = files.paths.filter((path) => /\.([mc]?[jt]sx?|vue|html?)$/i.test(path));
  const asking = texts.map((path) => files.text(path)).filter((text) => ASKS.test(text));
  if (asking.length === 0) return "";
  const hasWorkers = asking.some((text) => /Worker\s*\(/.test(text));
  const isServed = (path) => path !== page && (hasWorkers ? !/\.vue$/.test(path) : !CODE.test(path));
  // Only what some script may name: its path's last part stands in one.
  const isNamed = (path) => asking.some((text) => text.includes(posix.basename(path).split(".")[0]));
  const list = files.paths
    .filter((path) => isServed(path) && isNamed(path))
    .map((path) => [path, { type: type(path), ...content(files, path) }]);
  if (list.length === 0) return "";
  const json = JSON.stringify(Object.fromEntries(list));
  const folder = JSON.stringify(posix.dirname(page) === "." ? "" : `${posix.dirname(page)}/`);
  return `<script>(${asScript(serve.toString())})(${asScript(json)}, ${folder});</script>\n`;
}

function content(files, path) {
  const bytes = files.bytes(path);
  return isUtf8(bytes) || CODE.test(path) ? { text: files.text(path) } : { base64: bytes.toString("base64") };
}

/** Runs in the page. */
function serve(files, folder) {
  const found = (input) => {
    const given = String(input?.url ?? input);
    let path = null;
    if (/^\/(?!\/)/.test(given)) {
      path = given.slice(1);
    } else {
      const root = "http://files/";
      const isLocal = /^(file|about):/.test(document.baseURI);
      const here = isLocal ? new URL(".", document.baseURI).href : null;
      const rest = here && given.startsWith(here) ? given.slice(here.length) : given;
      const url = URL.parse(rest, root + folder);
      if (url?.href.startsWith(root)) path = url.href.slice(root.length);
    }
    if (path === null) return null;
    const name = decodeURIComponent(path.replace(/[?#].*$/s, ""));
    const key = [name, `public/${name}`].find((one) => Object.hasOwn(files, one));
    return key === undefined ? null : { key, ...files[key] };
  };
  const { fetch } = window;
  window.fetch = async function (input, init) {
    const file = found(input);
    if (!file) return fetch.call(this, input, init);
    const body = file.text ?? Uint8Array.from(atob(file.base64), (byte) => byte.charCodeAt(0));
    return new Response(body, { headers: { "Content-Type": file.type } });
  };
  const { open } = XMLHttpRequest.prototype;
  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    const file = found(url);
    const data = file && (file.text === undefined ? `;base64,${file.base64}` : `,${encodeURIComponent(file.text)}`);
    return open.call(this, method, file ? `data:${file.type}${data}` : url, ...rest);
  };
  const local = (Native) =>
    class extends Native {
      constructor(url, options) {
        const file = found(url);
        const text = file && `${file.text}\n//# sourceURL=${encodeURI(file.key)}\n`;
        super(file ? URL.createObjectURL(new Blob([text], { type: "text/javascript" })) : url, options);
      }
    };
  for (const name of ["Worker", "SharedWorker"]) {
    if (window[name]) window[name] = local(window[name]);
  }
}
