// The style elements of a document that are made of stylesheets of the program:
// a stylesheet that was edited since replaces its part of them, without a run.

import type { SourceFile } from "../workspace";
import { rawElements } from "./maps";

export interface Restyle {
  /** The text of the style elements to change. */
  from: string;
  to: string;
}

/** A stylesheet with these needs the bundler (languages/web/launcher/styles.js); names of modules are changed by it. */
const REFERS = /@import|@charset|url\(|image-set\(|\\|<\/style|<!--/i;
const MODULE = /\.module\.css$/i;
/** The bundler's comment before the text of a file; it removes all other comments. */
const HEADING = /^\/\* (.+) \*\/$/gm;

interface Piece {
  /** The stylesheet that it is made of; empty if it cannot be replaced. */
  path: string;
  text: string;
}

export class Sheets {
  private readonly files: readonly Readonly<SourceFile>[];
  /** The path of each text, without the blanks around it. */
  private readonly paths: ReadonlyMap<string, string>;
  private readonly elements: readonly (readonly Piece[])[];
  /** The text of each element as it is shown. */
  private readonly shown: string[];

  /** The document was made of these files. */
  constructor(html: string, files: readonly Readonly<SourceFile>[]) {
    this.files = files.filter(({ path, content }) => isPlain(path, content));
    this.paths = new Map(this.files.map(({ path, content }) => [content.trim(), path]));
    const styles = rawElements(html).filter(({ name }) => name === "style");
    // As a browser reads the ends of lines.
    this.shown = styles.map(({ start, end }) => html.slice(start, end).replace(/\r\n?/g, "\n"));
    this.elements = this.shown.map((text) => this.piecesOf(text));
  }

  /** The changes that show these files. */
  changes(files: readonly Readonly<SourceFile>[]): Restyle[] {
    const now = new Map(files.map(({ path, content }) => [path, content]));
    const before = new Map(this.files.map(({ path, content }) => [path, content]));
    const textOf = ({ path, text }: Piece) => {
      const content = now.get(path);
      const isNew = content !== undefined && content !== before.get(path) && isPlain(path, content);
      return isNew ? `\n${content}\n` : text;
    };
    return this.elements.flatMap((pieces, index): Restyle[] => {
      const from = this.shown[index] ?? "";
      const to = pieces.map(textOf).join("");
      this.shown[index] = to;
      return from === to ? [] : [{ from, to }];
    });
  }

  private piecesOf(text: string): Piece[] {
    const whole = this.paths.get(text.trim());
    if (whole !== undefined) return [{ path: whole, text }];
    const headings = [...text.matchAll(HEADING)];
    if (headings.length === 0) return [{ path: "", text }];
    return headings.map((heading, index) => {
      const start = index === 0 ? 0 : heading.index;
      const path = this.files.find((file) => file.path === heading[1])?.path ?? "";
      return { path, text: text.slice(start, headings[index + 1]?.index) };
    });
  }
}

const isPlain = (path: string, content: string) => /\.css$/i.test(path) && !MODULE.test(path) && !REFERS.test(content);
