// PHP without the HTML around it, which few programs have and whose grammars are
// large.
import { LanguageSupport } from "@codemirror/language";
import { phpLanguage } from "@codemirror/lang-php";

export const template = phpLanguage.configure({ top: "Template" });

export const extension = () => new LanguageSupport(template);
