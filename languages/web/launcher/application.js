// An application of React or Vue: the page it stands in, and how its entry is
// mounted when it does not do that itself.
import { babelParse, walk } from "@vue/compiler-sfc";
import { Faults, fault } from "./faults.js";
import { join } from "./files.js";
import { NOTHING } from "./map.js";
import { document } from "./page.js";

const MOUNTING = /^(createRoot|hydrateRoot|createApp|createSSRApp)$/;
const NAMES = { react: "root", vue: "app" };

/** The document of the application that starts with `entry`. */
export async function application(bundle, entry) {
  const { name } = bundle.framework;
  if (/\.html?$/i.test(entry)) return document(bundle, entry, bundle.files.text(entry));
  const mounted = await mounting(bundle, entry);
  const mount = (path) => (path === entry ? mounted : path);
  const own = [join(entry, "index.html"), "index.html", "public/index.html"].find((path) =>
    bundle.files.has(path),
  );
  const script = `<script type="module" src="/${encodeURI(entry).replace(/[?#]/g, encodeURIComponent)}"></script>\n`;
  if (own == null) return document(bundle, "index.html", page(NAMES[name], script), mount);
  const text = bundle.files.text(own);
  const has = /<script[^>]*type\s*=\s*["']?module/i.test(text);
  const end = text.search(/<\/body\s*>/i);
  const at = end < 0 ? text.length : end;
  const whole = has ? text : text.slice(0, at) + script + text.slice(at);
  return document(bundle, own, whole, mount);
}

const page = (id, script) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>App</title>
</head>
<body>
<div id="${id}"></div>
${script}</body>
</html>
`;

/** By what name the entry is built: its own, or that of code that mounts it. */
async function mounting(bundle, entry) {
  const { name } = bundle.framework;
  if (entry.endsWith(".css")) return entry;
  const isComponent = entry.endsWith(".vue");
  const names = isComponent ? ["default"] : await bundle.exportsOf(entry);
  const capital = names.filter((one) => /^\p{Lu}/u.test(one));
  const exported = names.includes("default") ? "default" : capital.length === 1 ? capital[0] : null;
  const imports = bundle.files.text(entry);
  if (!isComponent && mountsItself(imports, /\.[mc]?tsx?$/.test(entry))) return entry;
  if (exported == null) {
    if (name === "react" && !/^\s*import\b/m.test(imports) || capital.length > 1) {
      throw new Faults([nothing(bundle, entry)]);
    }
    return entry;
  }
  const code = name === "react" ? REACT : VUE;
  const contents = code(JSON.stringify(entry), exported) + NOTHING;
  return bundle.add(`${entry}?mount`, { file: null, contents, loader: "js" });
}

/** Whether a script calls what mounts a component, by its name or as a method. */
function mountsItself(text, isTyped) {
  const plugins = isTyped ? ["typescript", "decorators"] : ["decorators"];
  let isFound = false;
  const enter = ({ type, callee }) => {
    isFound ||= type === "CallExpression" && MOUNTING.test((callee.property ?? callee).name);
  };
  const options = (more) => ({ sourceType: "module", plugins: [...plugins, ...more] });
  for (const more of [["jsx"], []]) {
    try {
      walk(babelParse(text, options(more)), { enter });
      return isFound;
    } catch {
      // Types in angle brackets are no JSX.
    }
  }
  return false;
}

function nothing(bundle, entry) {
  const example = bundle.framework.name === "react" ? "export default App;" : "export default {…};";
  const note = `export the component that is shown, as in "${example}", or mount it yourself`;
  return fault({ file: entry }, "nothing is exported, and nothing is mounted", { note });
}

const REACT = (entry, name) => `
import { ${name} as shown } from ${entry};
import { createElement, isValidElement } from "react";
import { createRoot } from "react-dom/client";
createRoot(document.getElementById("root")).render(isValidElement(shown) ? shown : createElement(shown));
`;

const VUE = (entry, name) => `
import { ${name} as shown } from ${entry};
import { createApp } from "vue";
createApp(shown).mount("#app");
`;

/** The page of an entry that may be a page, a script or a stylesheet alone. */
export function wrapped(files, entry) {
  const text = files.text(entry);
  const address = encodeURI(`/${entry}`).replace(/[?#]/g, encodeURIComponent).replaceAll("&", "&amp;");
  const start = '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n';
  const around = (head, body) =>
    [`${entry}.html`, `${start}<title>${title(entry)}</title>\n${head}</head>\n<body>\n${body}</body>\n</html>\n`];
  if (/\.css$/i.test(entry)) return around(`<link rel="stylesheet" href="${address}">\n`, "");
  if (/\.svg$/i.test(entry)) return around("", text);
  if (/\.([mc]?[jt]s|[jt]sx)$/i.test(entry)) {
    const isModule = /\.(m[jt]s|tsx?|jsx)$/i.test(entry) || /^\s*(import|export)\b(?!\s*\()/m.test(text);
    const type = isModule ? ' type="module"' : "";
    return around("", `<script${type} src="${address}"></script>\n`);
  }
  return [entry, text];
}

const title = (entry) => entry.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
