// The gate: where the shell that has prepared waits for its submission.
'use strict';

const fs = require('node:fs');
const net = require('node:net');

/** The descriptor that the launcher was started with. */
const GATE = 3;

class Gate {
  constructor() {
    this.entry = '';
    const socket = new net.Socket({ fd: GATE });
    socket.setEncoding('utf8').on('data', (text) => { this.entry += text; });
    this.closed = new Promise((resolve) => { socket.once('close', resolve); });
  }

  /**
   * Whether the submission is there already: work that only makes a later one faster
   * would then delay it.
   */
  async isOpen() {
    // The bytes that have come are read now.
    await new Promise(setImmediate);
    return this.entry !== '';
  }

  /**
   * Reports that only the submission is missing, and waits for it.
   * @returns the path of the entry file, as it was submitted
   */
  async pass() {
    try {
      fs.writeSync(GATE, '\0');
    } catch {
      // If the submission came first, nobody listens any more.
    }
    await this.closed;
    // Nothing comes through it when the box is given up.
    if (this.entry === '') process.exit(1);
    return this.entry;
  }
}

module.exports = { Gate };
