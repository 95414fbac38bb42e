// The HTML around PHP, the keywords of PHP, and the functions that first programs
// use.
import { html as htmlGrammar } from "@codemirror/lang-html";
import { LanguageSupport } from "@codemirror/language";
import { phpLanguage } from "@codemirror/lang-php";
import { parseMixed } from "@lezer/common";

import { offering } from "../completion";
import { template } from "../languages/php";

const KEYWORDS =
  "abstract and array as break callable case catch class clone const continue declare default do echo else elseif " +
  "empty enum endfor endforeach endif endwhile extends false final finally fn for foreach function global goto if " +
  "implements include include_once instanceof insteadof interface isset list match mixed namespace new null or parent " +
  "print private protected public readonly require require_once return self static string strict_types switch throw " +
  "trait true try unset use var void while xor yield";
const FUNCTIONS =
  "printf sprintf var_dump print_r strlen count explode implode str_repeat str_replace str_contains str_pad substr " +
  "strtolower strtoupper ucfirst trim in_array array_map array_filter array_reduce array_keys array_values array_push " +
  "array_pop array_merge array_sum array_slice sort usort ksort range intdiv max min round floor ceil abs random_int " +
  "is_numeric json_encode json_decode file_get_contents fgets readline date time preg_match preg_replace";

const html = htmlGrammar({ matchClosingTags: false });
const withHtml = template.configure({
  wrap: parseMixed((node) =>
    node.type.isTop ? { parser: html.language.parser, overlay: ({ name }) => name === "Text" } : null,
  ),
});

export const support = () => [
  new LanguageSupport(withHtml, html.support),
  phpLanguage.data.of({ autocomplete: offering(KEYWORDS, "keyword") }),
  phpLanguage.data.of({ autocomplete: offering(FUNCTIONS, "function") }),
];
