// The contact sheet: every picture of a folder, one scene after another.

import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { folder } from "./files";

export default function sheet(): void {
  const path = folder();
  const scenes = new Map<string, string[]>();
  for (const name of readdirSync(path).filter((one) => one.endsWith(".png")).sort()) {
    const scene = name.replace(/-\d+x\d+-(?:light|dark)\.png$/, "");
    scenes.set(scene, [...(scenes.get(scene) ?? []), name]);
  }
  const figure = (name: string) =>
    `<figure><a href="${name}"><img src="${name}" alt="" loading="lazy"></a><figcaption>${name}</figcaption></figure>`;
  const parts = [...scenes].map(([scene, names]) => `<h2>${scene}</h2>\n<div>${names.map(figure).join("\n")}</div>`);
  const html = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Screenshots</title>
<style>
body { margin: 24px; font: 14px/1.5 system-ui, sans-serif; color: #222; background: #ddd }
div { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 16px }
figure { margin: 0 }
img { display: block; max-width: min(640px, 90vw); box-shadow: 0 1px 6px #0006 }
</style>
${parts.join("\n")}
</html>
`;
  writeFileSync(join(path, "index.html"), html);
}
