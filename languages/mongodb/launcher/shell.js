// The mongosh shell without a terminal, a log, a home folder or a network
// beyond the server: its own evaluation and its own printing.
'use strict';

const { EventEmitter } = require('node:events');
const { PassThrough } = require('node:stream');
const { default: MongoshNodeRepl } = require('@mongosh/cli-repl/lib/mongosh-repl');
const { NodeDriverServiceProvider } = require('@mongosh/service-provider-node-driver');
const { CliUserConfig } = require('@mongosh/types');
const { version } = require('@mongosh/cli-repl/package.json');

// As `mongosh` without arguments connects.
const ADDRESS = 'mongodb://127.0.0.1:27017/?directConnection=true'
  + `&serverSelectionTimeoutMS=2000&appName=mongosh+${version}`;
const PRODUCT = {
  productName: 'MongoDB Shell',
  productDocsLink: 'https://www.mongodb.com/docs/mongodb-shell/',
  // Without it each connection looks for the cloud it might be in.
  driverInfo: { name: 'mongosh', version },
  // A day. Else the number of connections, and of what the server has done,
  // would tell how long the shell has waited for its script. Its connections
  // report that the server has ended.
  heartbeatFrequencyMS: 24 * 60 * 60 * 1000,
  // A box has 64 sockets, and a connection takes two of them.
  maxPoolSize: 20,
};

/** The services that mongosh asks of the program around it; settings live in memory. */
class Surroundings {
  constructor() {
    this.settings = { ...new CliUserConfig(), enableTelemetry: false };
  }

  getConfig(key) {
    return this.settings[key];
  }

  setConfig(key, value) {
    this.settings[key] = value;
    return 'success';
  }

  listConfigOptions() {
    return Object.keys(this.settings);
  }

  getHistoryFilePath() {
    return '';
  }

  getLogPath() {
    return undefined;
  }

  getCryptLibraryOptions() {
    return {};
  }

  bugReportErrorMessageInfo() {
    return undefined;
  }

  async readFileUTF8(name) {
    const path = require('node:path').resolve(name);
    const contents = await require('node:fs').promises.readFile(path, 'utf8');
    return { contents, absolutePath: path };
  }

  exit(code) {
    process.exit(code);
  }
}

class Shell {
  /** @param {import('./trace').Trace} trace */
  constructor(trace) {
    this.trace = trace;
    this.count = 0;
    this.options = { quiet: true, jsContext: 'plain-vm', deepInspect: true };
    this.repl = new MongoshNodeRepl({
      input: new PassThrough(),
      output: process.stdout,
      bus: new EventEmitter(),
      ioProvider: new Surroundings(),
      shellCliOptions: this.options,
    });
    // Nobody answers.
    this.repl.onPrompt = undefined;
  }

  /** Connects to a server that accepts connections. */
  async connect() {
    const { bus } = this.repl;
    const provider = await NodeDriverServiceProvider.connect(
      ADDRESS, PRODUCT, this.options, bus);
    await this.repl.initialize(provider);
    this.mapRewrittenCode();
    // The rewriter and the evaluator do their first work now.
    await this.evaluate({ text: 'db.getName()', line: 1, column: 0 }, null);
  }

  isCommand(word) {
    return !!this.state().instanceState.shellApi[word]?.isDirectShellCommand;
  }

  /** Evaluates one part of a file as if it had been entered at the prompt. */
  evaluate({ text, line, column }, file) {
    this.start = { startLine: line, startColumn: column };
    this.count += 1;
    const name = `${file}?${this.count}`;
    this.files ??= new Map();
    this.files.set(name, file);
    return this.repl.loadExternalCode(text, name);
  }

  /** The code that is run for a part of a file. */
  rewritten({ text, line, column }) {
    this.start = { startLine: line, startColumn: column };
    const code = this.state().shellEvaluator.asyncWriter.process(text);
    this.start = {};
    return code;
  }

  /** The text that the prompt would print for a value; nothing for undefined. */
  printed(value) {
    return value === undefined ? '' : this.repl.writer(value);
  }

  /** An error as mongosh words it, on lines of its own. */
  worded(error) {
    return this.repl.formatError(error).replace(/^\r/, '').trimEnd();
  }

  state() {
    return this.repl.runtimeState();
  }

  /**
   * Has the rewriter keep the lines and columns of what was submitted, and tell
   * where each piece of its output comes from.
   */
  mapRewrittenCode() {
    const { shellEvaluator } = this.state();
    const rewriter = shellEvaluator.asyncWriter;
    const { step } = Object.getPrototypeOf(rewriter);
    let map = null;
    rewriter.step = (ast, source, plugins, options = {}) => {
      const more = { ...options };
      if (!ast) {
        more.parserOpts = { ...this.start, allowAwaitOutsideFunction: true };
      }
      if (options.code) more.sourceMaps = true;
      const result = step.call(rewriter, ast, source, plugins, more);
      if (!options.code) return result;
      map = result.map;
      return { ...result, code: surviving(result.code) };
    };
    const { customEval } = Object.getPrototypeOf(shellEvaluator);
    shellEvaluator.customEval = async (run, input, context, name) => {
      const file = this.files.get(name) ?? this.trace.submitted(name);
      const noted = (code, ...rest) => {
        this.trace.add(name, { file, map, code });
        this.start = {};
        return run(code, ...rest);
      };
      try {
        return await customEval.call(shellEvaluator, noted, input, context, name);
      } catch (error) {
        if (error?.code === 'BABEL_PARSE_ERROR' && !error.file) {
          error.file = file ?? name;
          error.message = `${error.file}: ${error.message}`;
          error.stack = '';
        }
        throw error;
      }
    };
  }
}

/**
 * Rewritten code that passes a stack overflow on: the rewriter's code for
 * every error calls a function, which overflows as well, and the first error
 * is lost.
 */
function surviving(code) {
  const call = /\b(\w+) ?= ?(_de\d*)\(\1\);/g;
  return code.replace(call, 'try { $1 = $2($1); } catch {}');
}

module.exports = { Shell };
