// Makes stack traces speak of the submitted files: code that mongosh rewrites before
// it is run is mapped back, and frames of the shell, the driver and Node are
// left out.
'use strict';

const { TraceMap, originalPositionFor } = require('@jridgewell/trace-mapping');

// Enough to reach the submission through the driver's own frames.
const STACK_DEPTH = 100;
const SHOWN = 10;

class Trace {
  constructor(folder) {
    this.folder = folder;
    /** {file, code, map} by the name under which it was evaluated. */
    this.evaluated = new Map();
  }

  /** Takes over the stack traces of every context. */
  install() {
    Error.stackTraceLimit = STACK_DEPTH;
    Error.prepareStackTrace = (error, sites) => {
      const frames = this.frames(sites).slice(0, SHOWN);
      return [heading(error), ...frames.map(written)].join('\n');
    };
  }

  /** Remembers what was evaluated under a name, and where it comes from. */
  add(name, evaluated) {
    this.evaluated.set(name, evaluated);
  }

  /** A name in the submission, or null for what is not part of it. */
  submitted(file) {
    const start = `${this.folder}/`;
    return file.startsWith(start) ? file.slice(start.length) : null;
  }

  frames(sites) {
    const frames = [];
    for (const site of sites) {
      const name = site.getFileName();
      const evaluated = this.evaluated.get(name);
      const caller = callerName(site);
      if (evaluated && isWrapper(evaluated, site)) {
        // It has the name, the function in it the place.
        if (frames.length > 0) frames.at(-1).caller ??= caller;
        continue;
      }
      const place = evaluated ? origin(evaluated, site) : this.place(name, site);
      if (place) frames.push({ caller, place });
    }
    return frames;
  }

  /** The place of a frame in a module of the submission. */
  place(name, site) {
    const file = name ? this.submitted(name) : null;
    const line = site.getLineNumber();
    return file && !file.includes('node_modules') ? `${file}:${line}` : null;
  }
}

/** Where rewritten code comes from; its columns say nothing. */
function origin(evaluated, site) {
  evaluated.traced ??= new TraceMap(evaluated.map);
  const place = { line: site.getLineNumber(), column: site.getColumnNumber() - 1 };
  const { line } = originalPositionFor(evaluated.traced, place);
  return line && evaluated.file ? `${evaluated.file}:${line}` : null;
}

/**
 * Whether a frame is that of a function into which the rewriter put another
 * one with the submitted code.
 */
function isWrapper(evaluated, site) {
  evaluated.lines ??= evaluated.code.split('\n');
  const line = evaluated.lines[site.getLineNumber() - 1] ?? '';
  return line.trimStart().startsWith('})()') || /^return _msp/.test(line.trim());
}

function written({ caller, place }) {
  return caller ? `    at ${caller} (${place})` : `    at ${place}`;
}

/** The program's name for the function; nothing for the script itself. */
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
