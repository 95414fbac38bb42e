// Runs a mongosh script against the box's own server, and prints what the
// prompt would print. Loaded by load.js when mongosh.c has started mongod.
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { Gate } = require('./gate');
const { warmUp } = require('./warm-up');
const { statements } = require('./statements');
const { Shell } = require('./shell');
const { Trace } = require('./trace');

const READY = '"Waiting for connections"';

/**
 * Prepares, waits at the gate, and runs what comes through it.
 * @param {string} log descriptor of the server's log
 * @param {string} code descriptor that the exit code is written to
 */
async function run(log, code) {
  const gate = new Gate();
  exitByTelling(own(code, 'w'));
  const trace = new Trace(process.cwd());
  const shell = new Shell(trace);
  const server = await serverIsReady(own(log, 'r'));
  await shell.connect();
  if (!await gate.isOpen()) warmUp(shell);
  const fail = () => process.exit(1);
  server.once('end', fail);
  const entry = await gate.pass();
  server.off('end', fail);
  await submit({ shell, trace }, entry);
}

/** The same file under a descriptor that child processes do not inherit. */
function own(descriptor, flags) {
  const opened = fs.openSync(`/proc/self/fd/${descriptor}`, flags);
  fs.closeSync(Number(descriptor));
  return opened;
}

/** The run is over when its exit code is reported: its reader ends the rest. */
function exitByTelling(descriptor) {
  const { reallyExit } = process;
  process.reallyExit = (code) => {
    try {
      fs.writeSync(descriptor, Buffer.of(code));
    } catch {
      // The script has closed it.
    }
    reallyExit.call(process, code);
  };
}

/** Waits for the server; goes on reading its log, so that it never blocks. */
function serverIsReady(log) {
  const stream = new net.Socket({ fd: log, readable: true, writable: false });
  let text = '';
  return new Promise((resolve, reject) => {
    const read = (chunk) => {
      text += chunk;
      if (!text.includes(READY)) return;
      stream.off('data', read).resume().unref();
      resolve(stream);
    };
    stream.on('data', read).once('end', () => {
      reject(new Error(`the MongoDB server did not start:\n${text}`));
    });
  });
}

async function submit({ shell, trace }, entry) {
  // The arguments, for a script that asks for them.
  process.argv = [process.argv[0], entry];
  trace.install();
  // Node's own would print its stack and the shell's.
  process.abort = () => process.kill(process.pid, 'SIGABRT');
  let part = null;
  const fail = (error) => end(shell, error, part && `${entry}:${part.line}`);
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
  try {
    const text = fs.readFileSync(entry, 'utf8').replace(/^\uFEFF|^#!.*/, '');
    for (part of statements(text, entry, (word) => shell.isCommand(word))) {
      const value = await shell.evaluate(part, entry);
      // A promise that the statement left alone fails now.
      await new Promise(setImmediate);
      const printed = part.isSilent ? '' : shell.printed(value);
      if (printed || value === '') process.stdout.write(`${printed}\n`);
    }
  } catch (error) {
    fail(error);
  }
  process.exit();
}

/** Reports the error and its place, and ends the run. */
function end(shell, error, place) {
  // Errors of the script's own context are no instances of this one's classes.
  const isObject = typeof error === 'object' && error !== null;
  const thrown = isObject ? error : new Error(String(error));
  const stack = String(thrown.stack ?? '');
  const frames = stack.split('\n').filter((line) => line.startsWith('    at '));
  if (frames.length === 0 && place && stack) frames.push(`    at ${place}`);
  const text = [shell.worded(thrown), ...frames].join('\n');
  fs.writeSync(2, `${text.replaceAll(`${process.cwd()}/`, '')}\n`);
  process.exit(1);
}

module.exports = { run };
