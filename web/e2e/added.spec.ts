// A language that this build does not know, from a folder of the operator's.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { editorIn, ended, expect, test } from "./service";
import { replaceCode } from "./typing";

const DEFINITION = String.raw`
name = "Shell"
title = "Shell of an operator"
aliases = ["ksh"]
extensions = ["sh"]
image = "native"

[run]
command = ["/bin/sh", "{entry}"]

[starter]
entry = "main.sh"

[editor]
grammar = "no-such-grammar"
completion = { keywords = "while until" }
snippets = { unless = "if ! #{}; then" }

[editor.members]
file = "members.json"
values = [['^"', "text"]]

[editor.messages]
places = ['^(?<at>(?<path>PATH): (?<line>\d+)): (?<message>.+)$']

[editor.input]
reads = '\bread\b'
comment = "#"
`;
const FILES = {
  "shell/language.toml": DEFINITION,
  "shell/starter/main.sh": 'read name\necho "shown: $name"\n',
  "shell/starter-expected.txt": "shown: \n",
  "shell/members.json": '{"types":{"text":{"has":"upper() lower()"}}}',
};

test("a language from a folder is shown, run, completed, and embedded by its alias", async ({ page, serve, hosts, complaints }) => {
  const folder = mkdtempSync(join(tmpdir(), "sandpiper-languages-"));
  for (const [path, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  try {
    const { url } = await serve(`--languages-dir=${folder}`, "--languages=shell,python");
    // Another script of the page that names a language which this server has not.
    const html = `<script src="${url}/embed.js"></script><pre data-lang="ksh"></pre><pre data-lang="c">1</pre>`;
    await page.goto(hosts.hostPage(html));
    await expect(page.locator("iframe")).toHaveCount(1);
    const editor = await editorIn(page);
    await expect(editor.locator("h1")).toHaveText("Shell of an operator");
    await expect(editor.locator(".cm-content")).toContainText('echo "shown: $name"');
    await editor.locator("#run").click();
    expect(await ended(editor)).toMatch(/^Finished in/);
    expect(await editor.locator(".stdout pre").innerText()).toBe("shown: \n");
    await expect(editor.locator("#input-hint")).toContainText("asked for input");

    const code = editor.locator(".cm-content");
    await replaceCode(code, "echo 1\nno-such-command\n");
    await editor.locator("#run").click();
    await expect(editor.locator(".stderr .place").first()).toBeVisible();
    await expect(editor.locator(".cm-lint-marker")).toHaveCount(1);
    await replaceCode(code, "");
    await code.pressSequentially("unt");
    await expect(editor.locator(".cm-tooltip-autocomplete")).toContainText("until");
    const offered = editor.getByRole("listbox", { name: "Completions" });
    await replaceCode(code, "");
    await code.pressSequentially("unl");
    await expect(offered.getByRole("option").first()).toHaveText("unless …");
    await replaceCode(code, "");
    await code.pressSequentially('"a".');
    await expect(offered.getByRole("option")).toHaveText(["lower", "upper"]);
    const edited = "echo edited\n";
    await replaceCode(code, edited);
    await page.goto(`${url}/editor?lang=shell&languages=python&autosave=x&wrap=1`);
    const list = page.getByRole("combobox", { name: "Language" });
    await expect(list).toHaveValue("shell");
    await replaceCode(page.locator(".cm-content"), edited);
    await list.selectOption("python");
    await expect(page).toHaveURL(/editor\?lang=python&languages=python&autosave=x&wrap=1$/);
    await expect(page.locator(".cm-content")).toContainText("print");
    await expect(page.getByRole("combobox")).toHaveCount(1);
    expect((await page.request.get(`${url}/embed?lang=shell`)).status()).toBe(400);
    expect(complaints.filter((text) => !text.startsWith("Sandpiper did not replace"))).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
