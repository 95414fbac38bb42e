// The documents that programs of tests/programs print. `UPDATE_EXPECT=1` prints each table as it would be.

import { FULL } from "../service";
import { programs, run } from "./program";
import { BOTH_WAYS, IN_A_FRAME, test } from "./shown";

/** A frame changes little: of so many programs one is also shown as a file; with `FULL=1` each is. */
const ALSO_AS_FILE = FULL ? 1 : 4;

for (const [number, program] of programs().entries()) {
  test(program.name, async ({ service, shows }) => {
    const document = await run(service.url, program);
    const ways = number % ALSO_AS_FILE === 0 ? BOTH_WAYS : IN_A_FRAME;
    await shows(document, program.page, program.paths, ways);
  });
}
