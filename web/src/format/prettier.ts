// Formats the files of the web, in the page itself. It is loaded when it is first
// used, with the parts that the kind of file needs.

import type { Plugin } from "prettier";
import { format } from "prettier/standalone";

import { t } from "../messages";
import { Fault } from "./fault";

/** The formatted text. Prettier would keep the cursor too, but needs minutes for that in an ordinary text. */
export async function formatByPrettier(parser: string, tabWidth: number, source: string): Promise<string> {
  const plugins = await pluginsOf(parser);
  try {
    return await format(source, { parser, plugins, tabWidth });
  } catch (error) {
    throw faultOf(error);
  }
}

async function pluginsOf(parser: string): Promise<Plugin[]> {
  const scripts = () => [import("prettier/plugins/babel"), import("prettier/plugins/estree")];
  const styles = () => import("prettier/plugins/postcss");
  if (parser === "css") return [(await styles()).default];
  const wanted = parser === "html" || parser === "vue" ? [import("prettier/plugins/html"), styles(), ...scripts()] : scripts();
  const modules: { default: unknown }[] = await Promise.all(wanted);
  return modules.map((module) => module.default as Plugin);
}

/** The reason, with its place in the source, if it has one. */
function faultOf(error: unknown): Fault {
  if (!(error instanceof Error) || !("loc" in error)) return new Fault(t("format.failed"), null);
  const { start } = error.loc as { start?: { line: number; column: number } };
  // Below the first line is a picture of the place.
  const [message = ""] = error.message.split("\n");
  return start === undefined ? new Fault(t("format.failed"), null) : new Fault(message.replace(/ \(\d+:\d+\)$/, ""), start);
}
