// The gate, where what is prepared waits for its submission. The process that
// started this one, build() of document.c, holds it; descriptor 3 leads there.
// Waiting stops everything, esbuild's messages of each second too.
import { readSync, writeSync } from "node:fs";

const LAUNCHER = 3;
const ASK = "?";
const PASS = "!";

/** Whether the submission is there: work that only makes a later one faster would then delay it. */
export function gateIsOpen() {
  writeSync(LAUNCHER, ASK);
  return read(1)[0] === 1;
}

/** Tells that only the submission is missing; gives the path of its entry file. */
export function passGate() {
  writeSync(LAUNCHER, PASS);
  const parts = [];
  for (let part = read(4096); part.length > 0; part = read(4096)) parts.push(part);
  // Nothing comes through it when the box is given up.
  if (parts.length === 0) process.exit(1);
  return Buffer.concat(parts).toString();
}

/** Tells the status of the build, which ends everything. */
export const end = (status) => writeSync(LAUNCHER, Uint8Array.of(status));

function read(length) {
  const buffer = Buffer.alloc(length);
  return buffer.subarray(0, readSync(LAUNCHER, buffer));
}
