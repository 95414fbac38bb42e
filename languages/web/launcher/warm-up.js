// Builds of the starters, so that what a submission needs is compiled before it
// comes. Nothing of them stays but machine code: see forget() in component.js.
import { Bundle } from "./bundle.js";
import { Files } from "./files.js";

const STARTERS = "/opt/sandpiper/starter";
const ENTRIES = { web: "index.html", react: "App.jsx", vue: "App.vue" };
/** Further ones gain less than they cost. */
const BUILDS = 5;

/** Builds the starter of a language, until `isEnough`. */
export async function warmUp(language, framework, build, isEnough) {
  for (let count = 0; count < BUILDS && !isEnough(); count++) {
    await buildStarter(language, framework, build, Bundle);
  }
}

/**
 * Runs what is not esbuild's, while the snapshot is made: it keeps compiled
 * functions, and no child process.
 */
export async function warmUpSnapshot(languages, frameworkOf, build) {
  for (const language of languages) {
    await buildStarter(language, frameworkOf(language), build, BundleApart);
  }
}

async function buildStarter(language, framework, build, Kind) {
  const files = new Files(`${STARTERS}/${language}`);
  await build(new Kind(files, framework), ENTRIES[language]);
  framework?.forget?.(files);
}

class BundleApart extends Bundle {
  async build(entries) {
    for (const path of this.files.paths.filter((one) => one.endsWith(".vue"))) {
      this.framework.componentParts(this, path);
    }
    return new Map(entries.map(({ out }) => [`${out}.js`, ""]));
  }

  async exportsOf() {
    return ["default"];
  }
}
