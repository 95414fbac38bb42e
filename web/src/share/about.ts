// The dialog about the language as it is on this server: versions and limits;
// loaded when it is first opened.

import "../styles/about.css";
import { element } from "../dom";
import { number, t } from "../messages";

/** The answer of the server (crates/server/src/about.rs). */
export interface About {
  title: string;
  versions: readonly Readonly<Record<"name" | "version", string>>[];
  limits: Readonly<Record<"wall_ms" | "compile_wall_ms" | "memory_mib" | "output_kib" | "file_mib" | "disk_mib" | "processes", number>>;
}

/** Asks the server, and opens the dialog. */
export async function openAbout(language: string): Promise<void> {
  const response = await fetch(`embed/about/${encodeURIComponent(language)}`);
  if (!response.ok) throw new Error(String(response.status));
  const about = (await response.json()) as About;
  const close = element("button", { type: "button" }, t("start.close"));
  const heading = element("h2", { id: "about-title" }, titleOf(about));
  const dialog = element("dialog", { id: "about", class: "dialog", "aria-labelledby": "about-title" });
  const isKnown = about.versions.length > 0;
  const versions = isKnown
    ? listOf(about.versions.map(({ name, version }) => [name, version]))
    : element("p", {}, t("about.unknown"));
  dialog.append(
    heading,
    element("div", { class: "about", tabindex: "0", role: "group", "aria-labelledby": "about-title" },
      element("h3", {}, t("about.installed")), versions,
      element("h3", {}, t("about.limits")), listOf(limitsOf(about)),
      element("p", {}, t("about.no-network"))),
    element("div", { class: "dialog-actions" }, close),
  );
  close.addEventListener("click", () => dialog.close());
  // A click on the backdrop closes it too.
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** `About Python 3.13`. */
export function titleOf({ title, versions }: Pick<About, "title" | "versions">): string {
  const version = versions.find(({ name }) => name === title)?.version;
  const short = version === undefined ? undefined : /^\d+(?:\.\d+)?/.exec(version)?.[0];
  return t("about.title", { language: short === undefined ? title : `${title} ${short}` });
}

export function limitsOf({ limits }: Pick<About, "limits">): [string, string][] {
  const { wall_ms, compile_wall_ms, memory_mib, output_kib, file_mib, disk_mib, processes } = limits;
  return [
    [t("about.time"), seconds(wall_ms)],
    [t("about.compile-time"), seconds(compile_wall_ms)],
    [t("about.memory"), mib(memory_mib)],
    [t("page.output"), output_kib % 1024 === 0 ? mib(output_kib / 1024) : t("files.kib", { size: number(output_kib) })],
    [t("about.file"), mib(file_mib)],
    [t("about.all-files"), mib(disk_mib)],
    [t("about.processes"), number(processes)],
  ];
}

function seconds(ms: number): string {
  const time = number(ms / 1000, ms % 1000 === 0 ? 0 : 1);
  return t("run.seconds", { time });
}

const mib = (size: number) => t("files.mib", { size: number(size) });

function listOf(pairs: readonly (readonly [string, string])[]): HTMLElement {
  const cell = (tag: "dt" | "dd", text: string) => element(tag, {}, element("bdi", {}, text));
  return element("dl", {}, ...pairs.flatMap(([name, value]) => [cell("dt", name), cell("dd", value)]));
}
