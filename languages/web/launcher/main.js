// Builds a submission into a document. Start-up is a snapshot of Node with all of
// this code in it: one for pages, one for applications.
import { writeFileSync } from "node:fs";
import { startupSnapshot } from "node:v8";
import { Bundle, start } from "./bundle.js";
import { Faults, fault, formatted } from "./faults.js";
import { Files } from "./files.js";
import { end, gateIsOpen, passGate } from "./gate.js";
import { warmUp, warmUpSnapshot } from "./warm-up.js";

/** The built document, for show() of document.c. */
const DOCUMENT = "/artifacts/document";

/**
 * Makes of this process a snapshot that builds documents. `frameworkOf` gives
 * what the image has for a language, `build` the document of a bundle.
 */
export function makeSnapshot(languages, frameworkOf, build) {
  // Advice of the compilers is none of the program's.
  console.warn = console.error = console.log = () => {};
  startupSnapshot.setDeserializeMainFunction(() => main(process.argv[1], frameworkOf, build));
  warmUpSnapshot(languages, frameworkOf, build);
}

async function main(language, frameworkOf, build) {
  const prepared = prepare(language, frameworkOf, build);
  await prepared.catch(() => {});
  const entry = passGate();
  let status = 1;
  try {
    status = await submit(await prepared, entry, build);
  } catch (error) {
    // A fault of ours: it says nothing of the image.
    const message = `the document cannot be built: ${error.message}`;
    writeFileSync(2, formatted([fault({ file: entry }, message)], { has: () => false }));
  }
  end(status);
}

/** Brings all to the point where only the submission is missing. */
async function prepare(language, frameworkOf, build) {
  await start();
  const framework = frameworkOf(language);
  await warmUp(language, framework, build, gateIsOpen);
  return framework;
}

/** Builds the submission of the working directory; gives the step's status. */
async function submit(framework, entry, build) {
  const files = new Files(process.cwd());
  try {
    const { text, frameworkAt } = await build(new Bundle(files, framework), entry);
    const at = frameworkAt == null ? -1 : Buffer.byteLength(text.slice(0, frameworkAt));
    writeFileSync(DOCUMENT, `${at}\n${text}`);
    return 0;
  } catch (error) {
    if (!(error instanceof Faults)) throw error;
    writeFileSync(2, formatted(error.list, files));
    return 1;
  }
}
