// The snapshot of the language web.
import { makeSnapshot } from "./main.js";
import { document } from "./page.js";
import { wrapped } from "./wrapped.js";

makeSnapshot(["web"], () => null, (bundle, entry) => document(bundle, ...wrapped(bundle.files, entry)));
