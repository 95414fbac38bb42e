// The documents that programs of tests/programs print. `UPDATE_EXPECT=1` prints each table as it would be.

import { programs, run } from "./program";
import { test } from "./shown";

for (const program of programs()) {
  test(program.name, async ({ service, shows }) => {
    await shows(await run(service.url, program), program.page, program.paths);
  });
}
