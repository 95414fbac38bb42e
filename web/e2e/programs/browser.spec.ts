// Tests of the tests: each key of a table can fail, and a document has no network.

import { createServer } from "node:http";

import { expect } from "@playwright/test";

import { listening } from "../service";
import type { PageTable } from "./program";
import { test } from "./shown";
import { expected, visit } from "./visit";

// Column 5 of the script's second line is line 3, column 9 of sum.ts.
const map = btoa('{"version":3,"sources":["sum.ts"],"mappings":";KAEQ"}');

const cases: Record<string, { document: string; table: PageTable }> = {
  console: {
    document: `<!doctype html><meta charset=utf-8><script>
console.log('one', 2, null, undefined, 3n, -0, [1, 'a'], {b: true})
console.info('%d of %s %%, %cstyled', 1, 'two', 'color: red', 'more')
console.warn('100%', 1)
console.error(new TypeError('reported'))
alert('stop')
function fail() { throw new RangeError('too\\n  far') }
Promise.reject('late')
fail()
</script><script>
setTimeout(() => { throw 'text' })
</script><p id=done>done`,
    table: {
      console: [
        "log: one 2 null undefined 3n -0 [1, a] {b: true}",
        "info: 1 of two %, styled more",
        "warning: 100% 1",
        "error: TypeError: reported (document:5:15)",
        "alert: stop",
        "uncaught: RangeError: too\n  far (document:7:25)",
        "uncaught (in promise): late (document:8:9)",
        "uncaught: text (document:11:20)",
      ],
    },
  },
  content: {
    document: `<!doctype html><meta charset=utf-8><title>Grüße</title>
<style>h1 { color: #f00 }</style><h1>Über&nbsp;uns</h1>
<p style='display: none'>unseen</p><div id=box><b>x</b></div>
<img src='data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" width="3" height="4"/>'>`,
    table: {
      title: "Grüße",
      text: "Über\u00a0uns\nx",
      select: "#box",
      dom: "<b>x</b>",
      images: ["3x4"],
      styles: { h1: { color: "rgb(255, 0, 0)" } },
    },
  },
  actions: {
    document: `<!doctype html><input><button>Add</button><ul></ul><script>
const [input, button, list] = ['input', 'button', 'ul']
  .map(name => document.querySelector(name))
const add = () => setTimeout(() => {
  list.innerHTML += \`<li>\${input.value}</li>\`
}, 50)
button.onclick = add
input.onkeydown = event => { if (event.key === 'Enter') add() }
</script>`,
    table: {
      actions: [
        { type: "tea", into: "input" },
        { click: "button" },
        { wait_for: "li" },
        { press: "Enter", on: "input" },
        { wait_for: "li + li" },
      ],
      select: "ul",
      dom: "<li>tea</li><li>tea</li>",
    },
  },
  "source map": {
    document: `<!doctype html>
<script>/* here */
     throw new Error('sum')
//# sourceMappingURL=data:application/json;base64,${map}
</script>`,
    table: { console: ["uncaught: Error: sum (sum.ts:3:9)"] },
  },
};

for (const [name, { document, table }] of Object.entries(cases)) {
  test(name, async ({ shows }) => shows(document, table, new Set(["sum.ts"])));
}

// A table that nothing differs from would pass everything.
test("each key of a table is compared", async ({ context }, info) => {
  const document = `<!doctype html><p>one</p><script>console.log(1)
//# sourceMappingURL=data:application/json;base64,${map}
</script><img src=missing.png>`;
  const given = { title: "a title", text: "two", dom: "", styles: { p: { color: "rgb(1, 2, 3)" } }, titel: "" };
  const wrong: PageTable = given;
  for (const isFramed of [false, true]) {
    const file = info.outputPath("page.html");
    const seen = await (await visit(context, document, wrong, { file, isFramed, paths: new Set() }))();
    const shape = expected(wrong);
    expect(Object.keys(shape).sort()).toEqual([...Object.keys(given), "console", "images", "strangers"].sort());
    for (const [key, value] of Object.entries(shape)) {
      expect(() => expect(seen).toMatchObject({ [key]: value }), key).toThrow();
    }
  }
});

test("the frame is of another origin than the page", async ({ context }, info) => {
  const document = "<script>try { parent.document } catch (error) { console.log(error.name) }</script>";
  const where = { file: info.outputPath("page.html"), isFramed: true, paths: new Set<string>() };
  const seen = await (await visit(context, document, {}, where))();
  expect(seen.console).toEqual(["log: SecurityError"]);
});

test("requests are reported and reach nobody", async ({ shows }) => {
  let connections = 0;
  const server = createServer();
  server.on("connection", (socket) => {
    connections++;
    socket.destroy();
  });
  const host = `127.0.0.1:${await listening(server)}`;
  const document = `<!doctype html><img src='http://${host}/image.png'><script>
const ended = []
fetch('http://${host}/fetch').catch(error => ended.push(error.message))
  .then(() => fetch('https://example.org/'))
  .catch(error => ended.push(error.message)).then(() => {
    const socket = new WebSocket('ws://${host}/socket')
    socket.onclose = () => {
      document.body.innerHTML = '<p id=done>' + ended
    }
  })
</script>`;
  await shows(document, {
    wait_for: "#done",
    text: "Failed to fetch,Failed to fetch",
    console: ["image.png", "fetch"].map((path) => `request: http://${host}/${path}`).concat([
      "request: https://example.org/",
      `request: ws://${host}/socket`,
    ]),
  });
  expect(connections).toBe(0);
  server.close();
});
