// A page may expect these of a browser: dialogs, files and their addresses.

import { apart } from "./chromium";
import { lines, shown, withFiles } from "./documents";
import { expect, test } from "./service";

test.use({ launchOptions: apart });

test("alerts are dialogs in the page, one after the other, and nothing waits for them", async ({ page, service }) => {
  const html = `<!doctype html><style>:root > * { display: none !important; visibility: hidden; }</style><script>
    alert("<b>first</b>"); alert("second"); console.log(confirm("sure?"), prompt("name?", "Ada"), document.hasFocus());</script>`;
  await page.goto(`${service.url}/embed?${withFiles("lang=web", { "index.html": html })}`);
  const editor = page.mainFrame();
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Enter");
  await expect(lines(editor).last()).toContainText("true Ada false");
  await expect(page.locator(".cm-content")).toBeFocused();
  const dialog = shown(editor).getByRole("alert");
  for (const words of ["<b>first</b>", "second"]) {
    await expect(dialog.locator("p")).toHaveText(words);
    await dialog.getByRole("button", { name: "OK" }).click();
  }
  await expect(dialog).toHaveCount(0);
});

test("files that the person chooses, and blobs, have addresses that images and workers load", async ({ page, service }) => {
  const html = `<!doctype html><input type="file"><img id="chosen"><script>
    const input = document.querySelector("input");
    input.addEventListener("change", async () => {
      const image = document.querySelector("img");
      image.onload = () => console.log("shown", image.naturalWidth, input.files[0].name);
      image.src = URL.createObjectURL(input.files[0]);
      console.log(await input.files[0].text());
    });
    const code = new Blob(["postMessage(6 * 7)"], { type: "text/javascript" });
    new Worker(URL.createObjectURL(code)).onmessage = ({ data }) => console.log("worker", data);
  </script>`;
  await page.goto(`${service.url}/embed?${withFiles("lang=web&run=load", { "index.html": html })}`);
  const editor = page.mainFrame();
  await expect(lines(editor)).toHaveText([/worker 42/]);
  const chooser = page.waitForEvent("filechooser");
  await shown(editor).locator("input").click();
  const buffer = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="7" height="5"/>');
  await (await chooser).setFiles({ name: "bird.svg", mimeType: "image/svg+xml", buffer });
  await expect(lines(editor).filter({ hasText: "shown 7 bird.svg" })).toHaveCount(1);
  await expect(lines(editor).filter({ hasText: "<svg" })).toHaveCount(1);
});
