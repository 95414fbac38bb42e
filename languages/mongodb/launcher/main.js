// Runs a mongosh script against the box's own server, and prints what the
// prompt would print. Loaded by load.js when mongosh.c has started mongod.
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { statements } = require('./statements');
const { Shell } = require('./shell');
const { Trace } = require('./trace');

const READY = '"Waiting for connections"';

/**
 * Everything that needs no submission.
 * @param {number} log descriptor of the server's log
 */
async function prepare(log) {
  const trace = new Trace(process.cwd());
  const shell = new Shell(trace);
  await serverIsReady(log);
  await shell.connect();
  return { shell, trace };
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
      resolve();
    };
    stream.on('data', read).once('end', () => {
      reject(new Error(`the MongoDB server did not start:\n${text}`));
    });
  });
}

async function submit({ shell, trace }, entry) {
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
      // What the statement left to fail by itself fails now.
      await new Promise(setImmediate);
      const printed = part.isSilent ? '' : shell.printed(value);
      if (printed || value === '') process.stdout.write(`${printed}\n`);
    }
  } catch (error) {
    fail(error);
  }
  process.exit();
}

/** Tells the error and its place, and ends the run. */
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

module.exports = { prepare, submit };
