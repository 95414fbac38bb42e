// The words of the dialog about a language.

import { expect, test } from "vitest";

import { limitsOf, titleOf } from "../src/share/about";

test("the title has the version of the language, if it is known", () => {
  const versions = [{ name: "Python", version: "3.13.5" }, { name: "NumPy", version: "2.2.4" }];
  expect(titleOf({ title: "Python", versions })).toBe("About Python 3.13");
  expect(titleOf({ title: "C", versions })).toBe("About C");
  expect(titleOf({ title: "Java", versions: [{ name: "Java", version: "25" }] })).toBe("About Java 25");
});

test("limits in units for people", () => {
  const limits = { wall_ms: 1500, compile_wall_ms: 20000, memory_mib: 512, output_kib: 1024, file_mib: 64, disk_mib: 128, processes: 128 };
  expect(Object.fromEntries(limitsOf({ limits }))).toMatchObject({ Time: "1.5 s", Output: "1 MiB", Memory: "512 MiB" });
  expect(Object.fromEntries(limitsOf({ limits: { ...limits, output_kib: 100 } }))).toMatchObject({ Output: "100 KiB" });
});
