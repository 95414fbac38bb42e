// A browser without network, which shows documents as saved files and in sandboxed frames.

import { usual } from "../chromium";
import { expect, test as base } from "../service";
import type { PageTable } from "./program";
import { asTable, expected, visit } from "./visit";

type Way = "page" | "framed";
export const BOTH_WAYS: readonly Way[] = ["page", "framed"];
export const IN_A_FRAME: readonly Way[] = ["framed"];

interface OfTest {
  /** Fails unless the document is as the table says, in each of these ways. The paths are those of the submitted files. */
  shows: (document: string, table: PageTable, paths?: ReadonlySet<string>, ways?: readonly Way[]) => Promise<void>;
}

export const test = base.extend<OfTest>({
  launchOptions: [
    {
      ...usual,
      args: [
        ...usual.args,
        // The frame stays in the page's process, so all that happens in both has one order.
        "--disable-features=IsolateSandboxedIframes",
        "--host-resolver-rules=MAP * ~NOTFOUND",
      ],
      // Nobody is there.
      proxy: { server: "127.0.0.1:9" },
    },
    { scope: "worker" },
  ],
  offline: true,
  viewport: { width: 800, height: 600 },
  actionTimeout: 60_000,
  shows: async ({ context }, use, info) => {
    await use(async (document, table, paths = new Set(), ways = BOTH_WAYS) => {
      for (const name of ways) {
        const where = { file: info.outputPath(`${name}.html`), isFramed: name === "framed", paths };
        const look = await visit(context, document, table, where);
        if (process.env["UPDATE_EXPECT"] !== undefined) console.log(asTable(table, await look()));
        await expect.poll(look, { message: name }).toMatchObject(expected(table));
      }
    });
  },
});
