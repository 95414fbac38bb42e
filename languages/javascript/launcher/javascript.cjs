// Runs a JavaScript or TypeScript submission as `node ENTRY` would, but for this:
// the message of an error that ends it names files as they were submitted, and
// shows no frames of Node itself.
//
// Node is started with this file and waits at the gate; then only the
// submission is missing.
'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const { Module } = require('node:module');
const path = require('node:path');
const util = require('node:util');

const GATE = 3;
const FOLDER = `${process.cwd()}/`;

/** Frames that are none of the program's. */
const FOREIGN = /^\s+at (?:async )?(?:.*\()?(?:node:|\/opt\/sandpiper\/)/;
/** The head that V8 gives a syntax error: place, line, carets, if it is not at the end of the file. */
const HEAD = /^(?<place>\S.*:\d+)\n(?<excerpt>.*\n(?<before>[^^\n]*)\^*)\s*\n/;

/** Reports that only the submission is missing; gives the entry file and the arguments. */
function passGate() {
  try {
    fs.writeSync(GATE, '\0');
  } catch {
    // The submission came first: nobody listens any more.
  }
  const parts = [];
  const buffer = Buffer.alloc(4096);
  for (let length; (length = fs.readSync(GATE, buffer)) > 0;) parts.push(Buffer.from(buffer.subarray(0, length)));
  // Nothing comes through it when the box is given up.
  if (parts.length === 0) process.reallyExit(1);
  fs.closeSync(GATE);
  const texts = Buffer.concat(parts).toString().split('\0');
  return texts.length > 1 ? texts.slice(0, -1) : texts;
}

/** Node keeps the place of a module's syntax error to itself, but --check prints it. */
function withHead(error) {
  if (HEAD.test(error.stack) || /^\s+at (?!.*node:)/m.test(error.stack)) return error.stack;
  for (const name of fs.readdirSync('.', { recursive: true }).filter((name) => /\.m?js$/.test(name))) {
    const { stderr } = spawnSync(process.execPath, ['--check', name], { encoding: 'utf8' });
    if (HEAD.test(stderr) && stderr.includes(`\n${error}\n`)) return stderr.replace(/\n\nNode\.js v[^]*/, '');
  }
  return error.stack;
}

function shown(error) {
  if (!util.types.isNativeError(error)) return `Uncaught ${util.inspect(error)}`;
  if (error instanceof SyntaxError) return withHead(error);
  return util.inspect(error).replace(/^([\w$]+) \[\w+\]: /, '$1: ');
}

/** The lines without foreign frames; a brace behind one of them stays. */
function own(lines) {
  const kept = [];
  for (const line of lines) {
    if (!FOREIGN.test(line)) kept.push(line);
    else if (line.endsWith(' {')) kept.push(`${kept.pop()} {`);
  }
  return kept;
}

/** The text of an error that nobody caught. */
function worded(error) {
  const text = shown(error).replaceAll(`file://${FOLDER}`, '').replaceAll(FOLDER, '');
  const head = HEAD.exec(text);
  const lines = own(text.slice(head?.[0].length ?? 0).trimStart().split('\n'));
  if (head === null) return `${lines.join('\n')}\n`;
  const { place, excerpt, before } = head.groups;
  lines.splice(1, 0, `    at ${place}:${before.length + 1}`);
  return `${excerpt.trim() === '' ? '' : `${excerpt}\n\n`}${lines.join('\n')}\n`;
}

/** Prints an error that ends the program, as Node would now. */
function end(error) {
  if (process.listenerCount('uncaughtException') > 0 || process.hasUncaughtExceptionCaptureCallback()) return;
  fs.writeSync(2, worded(error));
  process.exit(1);
}

// Else what waits in a pipe that is not read at once takes memory, and is lost at
// the end.
for (const { _handle } of [process.stdout, process.stderr]) _handle?.setBlocking?.(true);
const [entry, ...args] = passGate();
process.argv = [process.argv[0], path.resolve(entry), ...args];
process.on('uncaughtExceptionMonitor', end);
Module.runMain();
