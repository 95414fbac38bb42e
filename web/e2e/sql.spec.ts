// Results of SQL with api=run: as the server returned them.

import { faults } from "./accessibility";
import { withFiles } from "./documents";
import { expect, stopClock, test } from "./service";

const SQL = `CREATE TABLE t (n INT, s TEXT);
INSERT INTO t VALUES (1, NULL), (2, 'NULL'), (30, ' lead'), (4, '');
SELECT * FROM t;
SELECT s FROM t WHERE n > 99;
UPDATE t SET n = 0 WHERE n > 1;
`;
const address = (query: string, sql: string) => `embed?${withFiles(`lang=mysql&run=load${query}`, { "main.sql": sql })}`;

test("with api=run NULL, blanks, empty sets and changed rows are seen", async ({ page, service, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.clock.install();
  await page.goto(`${service.url}/${address("&api=run", SQL)}`);
  await expect(page.locator("#status")).toHaveText(/^Finished in [\d.]+ s, 4 results$/);
  const tables = page.locator(".tables");
  expect(await tables.locator(":scope > *").evaluateAll((parts) => parts.map((part) => part.textContent))).toEqual([
    "INSERT: 4 rows affected",
    expect.stringMatching(/^Result 1: 4 rows/),
    expect.stringMatching(/^Result 2: 0 rows/),
    "UPDATE: 3 rows affected",
  ]);
  const first = page.getByRole("table", { name: "Result 1: 4 rows" });
  const cells = await first.locator("td").evaluateAll((found) => found.map((cell) => (cell as HTMLElement).innerText));
  expect(cells.filter((_, at) => at % 2 === 0)).toEqual(["1", "2", "30", "4"]);
  await expect(first.getByRole("cell", { name: "NULL no value", exact: true })).toHaveCount(1);
  await expect(first.getByRole("cell", { name: "NULL", exact: true })).toHaveCount(1);
  await expect(first.locator(".null")).toHaveCSS("font-style", "italic");
  const aligned = (text: string) => first.locator("td", { hasText: text }).evaluate((cell) => getComputedStyle(cell).textAlign);
  expect([await aligned("30"), await aligned("lead")]).toEqual(["end", "start"]);
  await expect(page.getByRole("table", { name: "Result 2: 0 rows" }).getByRole("columnheader")).toHaveText(["s"]);
  // All stand apart.
  const gaps = await tables.evaluate(({ children }) => {
    const boxes = [...children].map((part) => part.getBoundingClientRect());
    return boxes.slice(1).map((box, index) => Math.round(box.top - (boxes[index]?.bottom ?? 0)));
  });
  expect(gaps).toEqual([8, 8, 8]);
  expect(await faults(page.mainFrame())).toEqual([]);
  // "Copied" stands for a moment alone.
  await stopClock(page);
  await page.getByRole("button", { name: "Copy as CSV: result 1" }).click();
  await expect(page.getByRole("button", { name: "Copy as CSV: result 1" })).toHaveText("Copied");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('n,s\r\n1,\r\n2,NULL\r\n30, lead\r\n4,""\r\n');
  await page.getByRole("button", { name: "Plain text" }).click();
  await expect(page.locator(".drawn-tables pre")).toHaveText(/^\+-+\+-+\+\n\| n {4}\| s/);
});

test("without rows to print there is no text to switch to, and files are listed without the results", async ({ page, service }) => {
  await page.goto(`${service.url}/${address("&artifacts=1", "CREATE TABLE t (n INT);\nDELETE FROM t;")}`);
  await expect(page.locator(".tables")).toHaveText("DELETE: 0 rows affected");
  await expect(page.getByRole("button", { name: "Plain text" })).toHaveCount(0);
  await expect(page.locator("#streams")).not.toContainText("query.results");
});

test("a long result leaves no empty space behind it", async ({ page, service }) => {
  const sql = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT i, NULL AS nothing FROM n;";
  await page.setViewportSize({ width: 800, height: 300 });
  await page.goto(`${service.url}/${address("&api=run", sql)}`);
  await expect(page.getByRole("table", { name: "Result 1: 100 rows" })).toBeVisible();
  const space = await page.locator("#results").evaluate((results) => {
    const box = results.querySelector(".tables")?.getBoundingClientRect();
    return results.scrollHeight - ((box?.bottom ?? 0) - results.getBoundingClientRect().top + results.scrollTop);
  });
  expect(space).toBeLessThan(100);
});
