// The frameworks of React and Vue: with `api=run` the page loads each once.

import { apart } from "./chromium";
import { lines, shown, withFiles } from "./documents";
import { expect, test } from "./service";

test.use({ launchOptions: apart });

const programs: readonly [language: string, files: Readonly<Record<string, string>>, file: string, line: number][] = [
  ["react", {
    "App.jsx": "import Go from './Go';\nexport default () => <Go />;\n",
    "Go.jsx": "export default function Go() {\n  const go = () => {\n    throw new Error('ouch');\n  };\n" +
      "  return <button onClick={go}>Go</button>;\n}\n",
  }, "Go.jsx", 3],
  ["vue", {
    "App.vue": "<script setup>\nfunction go() {\n  throw new Error('ouch');\n}\n</script>\n" +
      "<template>\n  <button @click=\"go\">Go</button>\n</template>\n",
  }, "App.vue", 3],
];

for (const [language, files, file, line] of programs) {
  test(`${language}: no later run transfers the framework, and errors have their lines`, async ({ page, service }) => {
    const editor = page.mainFrame();
    // By their ids. The page ends the request of a run itself, so its sizes are not in `request.sizes()`.
    const loaded = new Map<string, { path: string; bytes: number }>();
    const network = await page.context().newCDPSession(page);
    await network.send("Network.enable");
    network.on("Network.requestWillBeSent", ({ requestId, request }) => {
      const { pathname } = new URL(request.url);
      if (/api|framework/.test(pathname)) loaded.set(requestId, { path: pathname.replace(/-\w+\.js$/, ""), bytes: 0 });
    });
    network.on("Network.dataReceived", ({ requestId, encodedDataLength }) => {
      const one = loaded.get(requestId);
      if (one !== undefined) one.bytes += encodedDataLength;
    });
    const run = async () => {
      loaded.clear();
      await page.click("#run");
      await shown(editor).locator("button").click();
      const link = lines(editor).filter({ hasText: "Error: ouch" }).first().locator("> .place");
      await expect(link).toHaveText(`${file}:${line}`);
      await expect(page.locator("#run-label")).toHaveText("Run");
      const all = [...loaded.values()];
      console.log(`${language}: ${all.map(({ path, bytes }) => `${path} ${bytes} bytes`).join(", ")}`);
      return all;
    };
    const framework = `/embed/assets/framework-${language}`;
    await page.goto(`${service.url}/embed?${withFiles(`lang=${language}&api=run`, files)}`);
    expect((await run()).map(({ path }) => path)).toEqual(["/api/run", framework]);
    const [second, ...others] = await run();
    expect(others).toEqual([]);
    expect(second?.path).toBe("/api/run");
    expect(second?.bytes).toBeGreaterThan(1000);
    expect(second?.bytes).toBeLessThan(20_000);
    // On the next visit the browser has it.
    await page.reload();
    await run();
    const transferred = await page.evaluate(() =>
      performance.getEntriesByType("resource").flatMap((entry) => {
        const { name, transferSize, decodedBodySize } = entry as PerformanceResourceTiming;
        return name.includes("framework-") ? [[transferSize, decodedBodySize > 100_000]] : [];
      }),
    );
    expect(transferred).toEqual([[0, true]]);
  });
}

for (const [how, fulfilled] of [
  ["cannot be had", { status: 404, body: "{}" }],
  ["was changed on the way", { status: 200, body: "alert(1)" }],
] as const) {
  test(`if a framework ${how}, the program is run again, and the preview shows`, async ({ page, service }) => {
    await page.route("**/embed/assets/framework-*", (route) => route.fulfill(fulfilled));
    const asked: unknown[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") asked.push((request.postDataJSON() as Record<string, unknown>)["framework"]);
    });
    await page.goto(`${service.url}/embed?${withFiles("lang=vue&api=run", { "App.vue": "<template><p>shown</p></template>" })}`);
    for (const expected of [["external", undefined], [undefined]]) {
      await page.click("#run");
      await expect(shown(page.mainFrame()).locator("p")).toHaveText("shown");
      await expect(page.locator("#run-label")).toHaveText("Run");
      expect(asked.splice(0)).toEqual(expected);
    }
  });
}
