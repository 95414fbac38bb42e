// Loads the shell from its bundle with the code that V8 compiled when the image
// was built, and runs the script that comes through the gate.
//
// usage: load.js LOG CODE [--compile] 3<>GATE
//
// LOG is the descriptor of the server's log, CODE the one that the exit code is
// written to. With --compile the code that the script made V8 compile is kept
// in the end.
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

async function main([log, code, option]) {
  // Else what waits in a pipe that is not read at once is lost at the end.
  for (const { _handle } of [process.stdout, process.stderr]) _handle?.setBlocking?.(true);
  await load(option === '--compile').run(log, code);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  process.exit(1);
});
