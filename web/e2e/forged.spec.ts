// Messages of a hostile page: nothing of it becomes markup, a command or a
// jump, and none of it holds the editor up.

import { apart } from "./chromium";
import { lines, withFiles } from "./documents";
import { embed, expect, stopClock, test } from "./service";
import { replaceCode } from "./typing";

test.use({ launchOptions: apart });

/** Gets hold of the port to the editor, as a page can: our own code uses it. */
const port = `const own = MessagePort.prototype.postMessage;
  const port = new Promise((found) => {
    MessagePort.prototype.postMessage = function (...args) { found(this); return own.apply(this, args); };
  });
  console.log("mine");
  const entry = { level: "log", values: [], depth: 0, table: null, stack: "", isUncaught: false };`;

const page = (script: string) => ({ "index.html": `<!doctype html><script>${script}</script>` });

test("forged messages are words", async ({ page: tab, service }) => {
  const markup = "<img src=x onerror=top.forged=1>";
  const script = `${port} port.then((port) => {
    const send = (message) => port.postMessage({ type: "entry", entry: { ...entry, ...message } });
    send({ values: [{ type: "text", text: "${markup}" }, { type: "error", text: "${markup}", stack: "" }] });
    send({ table: { columns: ["${markup}"], rows: [["${markup}"]] } });
    send({ level: "error", isUncaught: true, values: [{ type: "text", text: "${markup}" }],
      stack: "    at x (about:srcdoc:1:1)" });
    send({ level: "${markup}", values: [] });
    send({ values: [{ type: "node", html: "${markup}" }] });
    port.postMessage({ type: "leave" });
    port.postMessage({ type: "setFiles", payload: { files: [{ content: "forged" }] } });
    for (const target of [parent, parent.parent, top]) {
      const files = [{ path: "index.html", name: "index.html", content: "forged" }];
      target.postMessage({ app: "sandpiper", v: 1, id: 1, type: "setFiles", payload: { files } }, "*");
      target.postMessage({ eventType: "populateCode", language: "web", files }, "*");
      target.postMessage("sandpiper-preview", "*", [new MessageChannel().port2]);
    }
    send({ values: [{ type: "text", text: "all sent" }] });
  });`;
  const editor = await embed(tab, service, withFiles("lang=web", page(script)));
  await editor.click("#run");
  await expect(lines(editor).last()).toContainText("all sent");
  await expect(lines(editor)).toHaveCount(5);
  await expect(lines(editor).nth(1)).toContainText(markup);
  await expect(lines(editor).nth(2).locator("td, th").first()).toHaveText(markup);
  expect(await editor.locator(".console img").count()).toBe(0);
  await expect(editor.locator(".cm-content")).toContainText("MessagePort.prototype");
  expect(await editor.evaluate(() => document.activeElement?.id)).toBe("run");
  expect(await editor.evaluate(() => Reflect.get(window, "forged"))).toBeUndefined();
  expect(await tab.evaluate(() => Reflect.get(window, "forged"))).toBeUndefined();
});

test("embed.js takes no message of the page for one of the editor", async ({ page: tab, service }) => {
  const script = `for (const type of ["ready", "run:end", "resize", "theme"])
    top.postMessage({ app: "sandpiper", v: 1, type, payload: { height: 5000, forged: true } }, "*");
    console.log("sent")`;
  const code = page(script)["index.html"].replaceAll("<", "&lt;");
  await tab.goto(service.hostPage(`<script src="${service.url}/embed.js"></script>
    <pre data-lang="web" id="x">${code}</pre>
    <script>
      const heard = [], all = [];
      addEventListener("message", (event) => all.push(event.data.payload?.forged));
      const editor = Sandpiper.embed("#x");
      for (const type of ["ready", "run:end", "resize", "theme", "preview:console"])
        editor.on(type, (payload) => heard.push([type, payload.forged ?? payload.text]));
      const ended = editor.send("run");
    </script>`));
  const read = (name: string) => tab.evaluate(name) as Promise<unknown[]>;
  // The control: a page that does not check the source accepts it.
  await expect.poll(async () => (await read("all")).filter((one) => one === true).length).toBe(4);
  await expect.poll(async () => JSON.stringify(await read("heard"))).toContain('["preview:console","sent"]');
  expect(JSON.stringify(await read("heard"))).not.toContain("true");
  expect((await tab.locator("iframe").boundingBox())?.height).toBeLessThan(2000);
});

type Floods = readonly [name: string, script: string, outcome: RegExp][];

const floods: Floods = [
  ["lines", "for (let i = 0; i < 20000; i++) console.log('line', i); console.log('x')", /19,001 more not shown/],
  ["tables", `const rows = Array(200).fill(Object.fromEntries(Array.from({ length: 99 }, (_, i) => [i, 'x'])));
    for (let i = 0; i < 12; i++) { rows[0] = i; console.table(rows); }`, /3 more not shown/],
  ["messages to everybody", `for (let i = 0; i < 10000; i++) for (const to of [parent, parent.parent, top])
    to.postMessage({ app: "sandpiper", v: 1, type: "run" }, "*"); console.error('end')`, /1 error/],
];

/** Further ways to the one place that counts messages, which tests/console-recorder.test.ts states. */
const others: Floods = [
  // Further messages are left out until the editor has read these.
  ["lines and clearings", `for (let i = 0; i < 5000; i++) { console.clear(); console.log(i); }
    setInterval(() => console.error('end'), 100)`, /\d errors?/],
  ["errors", "for (let i = 0; i < 3000; i++) setTimeout(() => { throw new Error('e' + i); })", /more not shown/],
  ["alerts", "for (let i = 0; i < 5000; i++) alert(i)", /4,000 more not shown/],
];

/** Bounds of what the page's own side sends, which tests/console-values.test.ts states. */
const values: Floods = [
  ["one huge object", "const o = {}; for (let i = 0; i < 100000; i++) o['k' + i] = 'v'; console.log(o); console.error('end')", /1 error/],
  ["a deep object", "let o = {}; for (let i = 0; i < 100000; i++) o = { o }; console.log(o); console.error('end')", /1 error/],
  ["getters without end", `const o = () => ({ get next() { return o(); } }); console.log(o());
    console.log(new Proxy({}, { ownKeys: () => { throw 1; } })); console.error('end')`, /1 error/],
  ["a long text", "console.log('x'.repeat(10000000)); console.error('end')", /1 error/],
];

for (const [what, cases] of [["floods", floods], ["other floods", others], ["values of any size", values]] as const) {
  const tag = cases === floods ? [] : "@full";
  test(`${what} leave the editor alive`, { tag }, async ({ page: tab, service }) => {
    const editor = await embed(tab, service, "lang=web");
    const run = async (script: string) => {
      await replaceCode(editor.locator(".cm-content"), page(script)["index.html"]);
      await editor.click("#run");
    };
    for (const [name, script, outcome] of cases) {
      await test.step(name, async () => {
        await run(script);
        await expect(editor.locator(".console-bar")).toContainText(outcome);
        expect(await lines(editor).count()).toBeLessThanOrEqual(1000);
        await run("console.log('well')");
        await expect(lines(editor)).toHaveText([/^well/]);
      });
    }
  });
}

/** More than a page may send at once; a message that our code cannot have sent counts as many. */
const forgers: readonly [name: string, count: number, send: string][] = [
  ["entries", 10_001, "{ type: 'entry', entry: { ...entry, values: [{ type: 'text', text: String(i) }] } }"],
  ["clearings", 10_001, "{ type: 'clear' }"],
  ["messages that are none", 101, "{ i }"],
  ["long texts", 101, "{ type: 'entry', entry: { ...entry, stack: 'x'.repeat(100000) + i } }"],
];

for (const [name, count, message] of forgers) {
  // The price of each message is in tests/allowance.test.ts.
  const tag = name === "entries" ? [] : "@full";
  test(`a flood of forged ${name} ends the page`, { tag }, async ({ page: tab, service }) => {
    const script = `${port} port.then((port) => { for (let i = 0; i < ${count}; i++) port.postMessage(${message}); });`;
    await tab.clock.install();
    const editor = await embed(tab, service, withFiles("lang=web", page(script)));
    await editor.locator("#menu-button[aria-controls]").waitFor();
    // Every second earns the page more: so none passes.
    await stopClock(tab);
    await editor.click("#run");
    await expect(editor.locator(".preview-banner")).toContainText("it sent too many messages");
    await expect(editor.locator(".preview iframe")).toHaveCount(0);
    await tab.clock.resume();
    await replaceCode(editor.locator(".cm-content"), "<!doctype html><script>console.log('well')</script>");
    await editor.click("#run");
    await expect(lines(editor)).toHaveText([/^well/]);
  });
}
