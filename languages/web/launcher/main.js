// Builds a submission into one HTML document: `bundler LANGUAGE ENTRY`. Start-up
// is a snapshot of Node with all of this code in it.
import { readFileSync, writeFileSync } from "node:fs";
import { startupSnapshot } from "node:v8";
import { Bundle, start, stop } from "./bundle.js";
import { Faults, fault, told } from "./faults.js";
import { Files } from "./files.js";
import { application, wrapped } from "./application.js";
import { document } from "./page.js";

const HOME = "/opt/sandpiper";

/** Brings all to the point where only the submission is missing. */
async function prepare(language) {
  const started = start();
  const framework = language === "web" ? null : {
    ...JSON.parse(readFileSync(`${HOME}/${language}.json`, "utf8")),
    code: readFileSync(`${HOME}/${language}.js`, "utf8"),
  };
  await started;
  return framework;
}

/** Builds the submission of the working directory. */
async function submit(framework, entry) {
  const files = new Files(process.cwd());
  try {
    const bundle = new Bundle(files, framework);
    const text = framework
      ? await application(bundle, entry)
      : await document(bundle, ...wrapped(files, entry));
    writeFileSync("/artifacts/index.html", text);
  } catch (error) {
    if (!(error instanceof Faults)) throw error;
    writeFileSync(2, told(error.list, files));
    process.exitCode = 1;
  }
}

async function main() {
  const [, language, entry] = process.argv;
  try {
    await submit(await prepare(language), entry);
  } catch (error) {
    // A fault of ours: it says nothing of the image.
    const message = `the document cannot be built: ${error.message}`;
    writeFileSync(2, told([fault({ file: entry }, message)], { has: () => false }));
    process.exitCode = 1;
  }
  stop();
}

// Advice of the compilers is none of the program's.
console.warn = console.error = console.log = () => {};
startupSnapshot.setDeserializeMainFunction(main);
