// Has Node take the JavaScript of a TypeScript file from /artifacts, where the
// compile step left it, under the name of the submitted file.
'use strict';

const fs = require('node:fs');
const { createRequire, registerHooks } = require('node:module');
const { dirname } = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');
const { getCallSites } = require('node:util');

const FOLDER = `${process.cwd()}/`;
const COMPILED = '/artifacts/';
/** The extensions, and those that the compiler gives them. */
const EXTENSIONS = { '.ts': '.js', '.mts': '.mjs', '.cts': '.cjs' };
const SUBMITTED = /\.[mc]?ts$/;

/** The path of the compiled file, or null if there is none. */
function compiledOf(url) {
  if (!url.startsWith('file://') || !SUBMITTED.test(url)) return null;
  const file = fileURLToPath(url);
  if (!file.startsWith(FOLDER)) return null;
  const path = file.slice(FOLDER.length).replace(SUBMITTED, (extension) => EXTENSIONS[extension]);
  return fs.existsSync(COMPILED + path) ? COMPILED + path : null;
}

/** The names that an import without the file's own extension can mean, as the compiler reads it. */
function namesFor(specifier) {
  const other = specifier.replace(/\.([mc]?)js$/, '.$1ts');
  return other === specifier ? [`${specifier}.ts`, `${specifier}/index.ts`] : [other];
}

function found(specifier, context, next) {
  try {
    return next(specifier, context);
  } catch (error) {
    if (!/^\.{0,2}\//.test(specifier)) throw error;
    for (const name of namesFor(specifier)) {
      try {
        return next(name, context);
      } catch {
        // The next one, or the first error.
      }
    }
    throw error;
  }
}

/** To the compiler an import of JSON needs no attribute, but to Node it does. */
function resolve(specifier, context, next) {
  const target = found(specifier, context, next);
  if (!/^file:.*\.json$/.test(target.url)) return target;
  return { ...target, importAttributes: { type: 'json', ...context.importAttributes } };
}

function load(url, context, next) {
  const compiled = compiledOf(url);
  if (compiled === null) return next(url, context);
  // Node tells a module from a script by what the compiler made of it.
  const { format } = next(pathToFileURL(compiled).href, { ...context, format: undefined });
  return { format, source: fs.readFileSync(compiled, 'utf8'), shortCircuit: true };
}

registerHooks({ resolve, load });

// To the compiler every file has these names of scripts, but Node gives them to scripts
// alone. `module` stays theirs: libraries know a script by it.
const NAMES = { __filename: (file) => file, __dirname: dirname, require: createRequire };
for (const [name, of] of Object.entries(NAMES)) {
  const get = () => {
    const { scriptName } = getCallSites(2, { sourceMap: false })[1];
    return of(scriptName.startsWith('file:') ? fileURLToPath(scriptName) : process.argv[1]);
  };
  const set = (value) => Object.defineProperty(globalThis, name, { value, writable: true });
  Object.defineProperty(globalThis, name, { get, set, configurable: true });
}
