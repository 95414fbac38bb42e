// The files that a run left; loaded when there are some. A program has made
// them: pictures are shown as images alone, which run nothing and load nothing,
// and a page, or an SVG that may take long, only in the frame of the preview.

import "../styles/artifacts.css";

import { element } from "../dom";
import { number, t, type Key } from "../messages";
import type { Preview } from "../preview/preview";
import { bytesOf, isRecording, textOf, type Artifact, type Left } from "../run/left";
import { download } from "../share/download";
import { Player } from "../turtle/player";
import { readRecording } from "../turtle/recording";
import { readCsv } from "./csv";
import { button, Room, tableOf, text } from "./render";
import { isSoonDrawn } from "./svg";

/** The media types that are shown as images, besides SVG. */
const PICTURES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const SEPARATORS: Readonly<Record<string, "," | "\t">> = { "text/csv": ",", "text/tab-separated-values": "\t" };
const REASONS: Readonly<Record<string, Key>> = {
  "too-many": "files.too-many",
  "too-large": "files.too-large",
  "too-deep": "files.too-deep",
  "link": "files.link",
  "name": "files.name",
  "not-a-file": "files.not-a-file",
  "unreadable": "files.unreadable",
};
/** Its path stands for all files. */
const WORKING_DIRECTORY = ".";
const MAX_SKIPPED_SHOWN = 20;

/** A section with all files. */
export function filesOf({ artifacts, skipped }: Left, previewUrl: string): HTMLElement {
  const room = new Room();
  const pages = new Pages(previewUrl);
  const shown = paired(artifacts).map((entry) => viewOf(entry, room, pages));
  const head = element("div", { class: "files-head" }, element("h2", {}, t("page.files")));
  if (shown.length > 1) head.append(saveAllTool(artifacts));
  const section = element("section", { class: "stream left-files", "aria-label": t("page.files") }, head, ...shown);
  if (skipped.length > 0) section.append(notesOf(skipped));
  return section;
}

/** A file, and the recording of how it was drawn. */
interface Entry {
  artifact: Artifact;
  recording?: Artifact;
}

/** Puts each recording to its picture, which is saved in its place. */
function paired(artifacts: readonly Artifact[]): Entry[] {
  const recordings = new Map<Artifact, Artifact>();
  for (const recording of artifacts) {
    if (!isRecording(recording)) continue;
    const picture = pictureOf(recording, artifacts);
    if (picture !== undefined) recordings.set(picture, recording);
  }
  const taken = new Set(recordings.values());
  return artifacts.flatMap((artifact): Entry[] => {
    if (taken.has(artifact)) return [];
    const recording = recordings.get(artifact);
    return [recording === undefined ? { artifact } : { artifact, recording }];
  });
}

/** The picture that has the number of the recording: they are shown together. */
function pictureOf({ display }: Artifact, artifacts: readonly Artifact[]): Artifact | undefined {
  return artifacts.find((artifact) => artifact.type === "image/svg+xml" && artifact.display === display);
}

function viewOf({ artifact, recording }: Entry, room: Room, pages: Pages): HTMLElement {
  const { path, size } = artifact;
  const save = button(t("files.save"), t("files.save-one", { path }));
  save.setAttribute("aria-label", save.title);
  save.addEventListener("click", () => download(nameOf(path), bytesOf(artifact)));
  const name = element("h3", {}, element("bdi", { dir: "ltr" }, path));
  const head = element("div", { class: "file-head" }, name, element("span", {}, sizeOf(size)), save);
  const box = element("article", { class: "left-file", "aria-label": path }, head);
  box.append(...contentOf(artifact, recording, { head, room, pages }));
  return box;
}

interface RenderContext {
  /** Takes the tools of a view. */
  head: HTMLElement;
  room: Room;
  pages: Pages;
}

function contentOf(artifact: Artifact, drawn: Artifact | undefined, { head, room, pages }: RenderContext): Node[] {
  const { path, type, encoding } = artifact;
  // One in base64 has control characters, which XML forbids.
  const isSvg = type === "image/svg+xml";
  if (isSvg ? encoding === "utf8" && isSoonDrawn(artifact.content) : PICTURES.has(type)) {
    const alt = titleOf(artifact) ?? path;
    const recording = drawn === undefined ? null : readRecording(drawn.content);
    const image = imageOf(artifact, alt);
    return [recording === null ? image : new Player(recording, alt, image).element];
  }
  const content = textOf(artifact) ?? "";
  if (content === "") return [];
  const separator = SEPARATORS[type];
  const table = separator === undefined ? null : readCsv(content, separator);
  if (table !== null) return [tableOf(table, room.partOf(table), path)];
  const box = element("div", { class: "file-text" });
  if (isSvg || type === "text/html") head.append(pages.tool(path, content, box));
  text(content, box);
  return [box];
}

/** Nothing in an image runs, loads or can be clicked. */
function imageOf({ type, encoding, content }: Artifact, alt: string): HTMLElement {
  const data = encoding === "base64" ? `;base64,${content}` : `;charset=utf-8,${encodeURIComponent(content)}`;
  return element("img", { src: `data:${type}${data}`, alt, decoding: "async" });
}

/** The title that a program gave its picture. */
function titleOf({ type, encoding, content }: Artifact): string | null {
  if (type !== "image/svg+xml" || encoding !== "utf8") return null;
  const title = /<(?:dc:)?title>([^<]{1,300})</.exec(content.slice(0, 4000))?.[1]?.trim() ?? "";
  const characters: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return title === "" ? null : title.replace(/&(lt|gt|quot|apos|amp);/g, (_, name: string) => characters[name] ?? "");
}

/** Shows one page at a time, in the frame of the preview. */
class Pages {
  private readonly url: string;
  private readonly box = element("div", { class: "file-page" });
  private preview: Promise<Preview> | null = null;

  constructor(url: string) {
    this.url = url;
  }

  /** The button that shows the page in place of its source, which stands in `source`. */
  tool(path: string, content: string, source: HTMLElement): HTMLButtonElement {
    const made = button(t("files.show-page"), t("files.show-page-of", { path }));
    made.setAttribute("aria-label", made.title);
    made.addEventListener("click", () => {
      this.preview ??= this.load();
      this.preview.then(
        (preview) => {
          source.before(this.box);
          preview.show(content, { entryFile: path, files: [{ path, content }] });
        },
        () => (this.preview = null),
      );
    });
    return made;
  }

  private async load(): Promise<Preview> {
    const { Preview } = await import("../preview/preview");
    // The lines of its errors are those of no file in the editor.
    return new Preview({ parent: this.box, url: this.url, hasConsole: false, memoryKey: "file", onJump: () => {} });
  }
}

function saveAllTool(artifacts: readonly Artifact[]): HTMLButtonElement {
  const made = button(t("files.save-all"), t("files.save-all-hint"));
  made.addEventListener("click", () => {
    const files = archived(artifacts);
    void import("../share/zip").then(({ zip }) => download("files.zip", zip(files)));
  });
  return made;
}

/** The files under paths that differ. */
function archived(artifacts: readonly Artifact[]): { path: string; content: Uint8Array<ArrayBuffer> }[] {
  const taken = new Set<string>();
  return artifacts.map((artifact) => {
    let path = artifact.path;
    while (taken.has(path)) path = `${taken.size}-${nameOf(path)}`;
    taken.add(path);
    return { path, content: bytesOf(artifact) };
  });
}

function notesOf(skipped: Left["skipped"]): HTMLElement {
  const list = element("ul", { class: "skipped" });
  for (const { path, reason } of skipped.slice(0, MAX_SKIPPED_SHOWN)) {
    list.append(element("li", {}, path === WORKING_DIRECTORY ? t("files.unread") : noteOf(path, reason)));
  }
  const more = skipped.length - MAX_SKIPPED_SHOWN;
  if (more > 0) list.append(element("li", {}, t("files.more-left-out", { n: more })));
  return list;
}

function noteOf(path: string, reason: string): string {
  const key = REASONS[reason];
  return t("files.left-out", { path, reason: key === undefined ? reason : t(key) });
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return t("files.bytes", { n: bytes });
  const kib = bytes / 1024;
  return kib < 1024 ? t("files.kib", { size: number(kib, 1) }) : t("files.mib", { size: number(kib / 1024, 1) });
}
