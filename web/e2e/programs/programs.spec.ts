// The documents that programs of tests/programs print. `UPDATE_EXPECT=1` prints each table as it would be.

import { start } from "../service";
import { programs, run } from "./program";
import { test as base } from "./shown";

const all = programs();

const test = base.extend<{}, { service: string }>({
  service: [
    async ({}, use) => {
      const languages = new Set(all.map(({ language }) => language));
      const { url, stop } = await start([`--languages=${[...languages].join()}`]);
      await use(url);
      stop();
    },
    { scope: "worker" },
  ],
});

test.describe.configure({ mode: "parallel" });

for (const program of all) {
  test(program.name, async ({ service, shows }) => {
    await shows(await run(service, program), program.page, program.paths);
  });
}
