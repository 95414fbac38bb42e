// The HTML around PHP.
import { html as htmlGrammar } from "@codemirror/lang-html";
import { LanguageSupport } from "@codemirror/language";
import { parseMixed } from "@lezer/common";

import { template } from "../languages/php";

const html = htmlGrammar({ matchClosingTags: false });
const withHtml = template.configure({
  wrap: parseMixed((node) =>
    node.type.isTop ? { parser: html.language.parser, overlay: ({ name }) => name === "Text" } : null,
  ),
});

export const support = () => new LanguageSupport(withHtml, html.support);
