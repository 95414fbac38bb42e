// Makes stack traces speak of the submitted files: what mongosh rewrites before
// it is run is mapped back, and frames of the shell, the driver and Node are
// left out.
'use strict';

const path = require('node:path');
const { TraceMap, originalPositionFor } = require('@jridgewell/trace-mapping');

// Enough to reach the submission through the driver's own frames.
const STACK_DEPTH = 100;
const SHOWN = 10;

class Trace {
  constructor(folder) {
    this.folder = folder;
    /** Source maps of evaluated code by the name it was evaluated under. */
    this.maps = new Map();
  }

  /** Takes over the stack traces of every context. */
  install() {
    Error.stackTraceLimit = STACK_DEPTH;
    Error.prepareStackTrace = (error, sites) => {
      const frames = sites.map((site) => this.frame(site)).filter(Boolean);
      return [heading(error), ...frames.slice(0, SHOWN)].join('\n');
    };
  }

  /** Remembers where the lines of `name` come from. */
  add(name, file, map) {
    this.maps.set(name, { file, map });
  }

  /** A name in the submission, or null for what is not part of it. */
  submitted(file) {
    const relative = path.relative(this.folder, file);
    const isOutside = relative.startsWith('..') || path.isAbsolute(relative);
    return isOutside ? null : relative;
  }

  frame(site) {
    const name = site.getFileName();
    if (!name) return null;
    const place = this.place(name, site);
    if (!place) return null;
    const caller = callerName(site);
    return caller ? `    at ${caller} (${place})` : `    at ${place}`;
  }

  place(name, site) {
    const line = site.getLineNumber();
    const column = site.getColumnNumber();
    const evaluated = this.maps.get(name);
    if (!evaluated) {
      const file = path.isAbsolute(name) ? this.submitted(name) : null;
      return file && !file.includes('node_modules') ? `${file}:${line}:${column}` : null;
    }
    evaluated.traced ??= new TraceMap(evaluated.map);
    const found = originalPositionFor(evaluated.traced, { line, column: column - 1 });
    return found.line ? `${evaluated.file}:${found.line}:${found.column + 1}` : null;
  }
}

/** What the program calls the function; nothing for the script itself. */
function callerName(site) {
  const name = site.getFunctionName();
  // The rewriter wraps what it makes asynchronous into functions without names.
  if (!name || /^_?(_|anonymous|eval)/.test(name)) return null;
  return site.isConstructor() ? `new ${name}` : name;
}

function heading(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return 'Error';
  }
}

module.exports = { Trace };
