// Files that are no text, in the documents of programs. The service takes them at /api/run.

import { test } from "./shown";

/** A picture, 3 wide and 4 high. */
const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAAMAAAAECAIAAADETxJQAAAAEElEQVR4nGP4z8AAQQx4WQD7LAv1/r+/OwAAAABJRU5ErkJggg==";

const cases: Record<string, Record<string, string>> = {
  web: {
    "index.html": `<!doctype html><meta charset=utf-8><style>html { background: url(a.png) }</style>
<img src="a.png"><script type="module">
import address from "./a.png";
const image = async (url) => {
  const image = new Image();
  image.src = url;
  await image.decode();
  document.body.append(image);
};
await image(address);
await image(getComputedStyle(document.documentElement).backgroundImage.slice(5, -2));
await image(URL.createObjectURL(await (await fetch("a.png")).blob()));
document.body.append(Object.assign(document.createElement("p"), { id: "done" }));
</script>`,
  },
  react: {
    "App.jsx": `import address from "./a.png";
export default () => <>{[1, 2, 3, 4].map((key) => <img key={key} src={address} />)}<p id="done" /></>;`,
  },
  vue: { "App.vue": `<template><img v-for="n in 4" src="./a.png"><p id="done" /></template>` },
};

for (const [language, files] of Object.entries(cases)) {
  test(`${language}: pictures are whole`, async ({ service, shows }) => {
    const texts = Object.entries(files).map(([path, content]) => ({ path, content }));
    const request = {
      language,
      entryFile: texts[0]?.path,
      files: [...texts, { path: "a.png", content: PICTURE, encoding: "base64" }],
    };
    const answer = await fetch(`${service.url}/api/run`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(request),
    });
    const { run } = (await answer.json()) as { run: { stdout: string } };
    const paths = new Set(request.files.map(({ path }) => path));
    await shows(run.stdout, { wait_for: "#done", images: Array<string>(4).fill("3x4") }, paths);
  });
}
