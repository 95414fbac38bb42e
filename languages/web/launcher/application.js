// An application of React or Vue: the page it stands in, and how its entry is
// mounted when it does not do that itself.
import { babelParse, walk } from "@vue/compiler-sfc";
import { Faults, fault, tooDeep } from "./faults.js";
import { join } from "./files.js";
import { NOTHING } from "./map.js";
import { document } from "./page.js";

const MOUNTING = /^(createRoot|hydrateRoot|createApp|createSSRApp)$/;
/** Exported, these are values in JavaScript and TypeScript alike. */
const PLAIN = /^(?!TS)/;
const TYPE = /^TS(Interface|TypeAlias)Declaration$/;
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
  // The page of Create React App has this before the addresses of its folder.
  const text = bundle.files.text(own).replaceAll("%PUBLIC_URL%", "");
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
  const text = bundle.files.text(entry);
  const script = isComponent ? null : parsed(entry, text);
  const names = isComponent ? ["default"] : exported(script) ?? (await bundle.exportsOf(entry));
  const capital = names.filter((one) => /^\p{Lu}/u.test(one));
  const shown = names.includes("default") ? "default" : capital.length === 1 ? capital[0] : null;
  if (script && mountsItself(script)) return entry;
  if (shown == null) {
    if (name === "react" && !/^\s*import\b/m.test(text) || capital.length > 1) {
      throw new Faults([nothing(bundle, entry)]);
    }
    return entry;
  }
  const code = name === "react" ? REACT : VUE;
  const contents = code(JSON.stringify(entry), shown) + NOTHING;
  return bundle.add(`${entry}?mount`, { file: null, contents, loader: "js" });
}

/** The syntax tree of a script, or nothing if it is none that Babel knows. */
function parsed(path, text) {
  const [, kind] = /\.[mc]?([jt])sx?$/.exec(path) ?? [];
  if (!kind) return null;
  const plugins = kind === "t" ? ["typescript", "decorators"] : ["decorators"];
  const options = (more) => ({ sourceType: "module", plugins: [...plugins, ...more] });
  for (const more of [["jsx"], []]) {
    try {
      return babelParse(text, options(more));
    } catch (error) {
      if (error instanceof RangeError) throw new Faults([tooDeep(path)]);
      // Types in angle brackets are no JSX.
    }
  }
  return null;
}

/** The names that a script exports, or nothing if that takes more to tell. */
function exported(script) {
  const names = script?.program.body.map((statement) => {
    const { type, declaration, specifiers, exportKind } = statement;
    if (!/^(Export|TSExport|TSImport)/.test(type)) return [];
    if (TYPE.test(declaration?.type)) return [];
    if (type === "ExportDefaultDeclaration" && PLAIN.test(declaration.type)) return ["default"];
    if (type !== "ExportNamedDeclaration") return null;
    // In TypeScript they may name types.
    if (!declaration && exportKind) return null;
    if (!declaration) return specifiers.map((one) => one.exported.name ?? one.exported.value);
    if (declaration.declare || !PLAIN.test(declaration.type)) return null;
    const declared = declaration.declarations ?? [declaration];
    return declared.some(({ id }) => !id.name) ? null : declared.map(({ id }) => id.name);
  });
  // Without any it may be CommonJS.
  return names?.includes(null) || names?.flat().length === 0 ? null : names?.flat();
}

/** Whether a script calls what mounts a component, by its name or as a method. */
function mountsItself(script) {
  let isFound = false;
  const enter = ({ type, callee }) => {
    isFound ||= type === "CallExpression" && MOUNTING.test((callee.property ?? callee).name);
  };
  walk(script, { enter });
  return isFound;
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
