// Loads the shell from its bundle with the code that V8 compiled when the image
// was built, and runs a script.
//
// usage: load.js LOG ENTRY [--compile]
//
// LOG is the descriptor of the server's log. With --compile the code that the
// script made V8 compile is written down in the end.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const BUNDLE = path.join(__dirname, 'shell.js');
const COMPILED = path.join(__dirname, 'shell.compiled');

function load(isCompiling) {
  // The bundle is ASCII.
  const source = fs.readFileSync(BUNDLE, 'latin1');
  const parameters = 'exports, require, module, __filename, __dirname';
  const script = new vm.Script(`(function (${parameters}) {${source}\n})`, {
    filename: BUNDLE,
    cachedData: isCompiling ? undefined : fs.readFileSync(COMPILED),
  });
  if (isCompiling) {
    process.on('exit', () => fs.writeFileSync(COMPILED, script.createCachedData()));
  }
  const module = { exports: {} };
  script.runInThisContext()(module.exports, require, module, BUNDLE, __dirname);
  return module.exports;
}

async function main([log, entry, option]) {
  // Else what waits in a pipe that is not read at once is lost at the end.
  for (const { _handle } of [process.stdout, process.stderr]) _handle?.setBlocking?.(true);
  const { prepare, submit } = load(option === '--compile');
  // What a script sees that asks for its arguments.
  process.argv = [process.argv[0], entry];
  await submit(await prepare(Number(log)), entry);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  process.exit(1);
});
