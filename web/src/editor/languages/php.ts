// PHP alone: few programs have HTML around it, and its grammars are heavy.
import { LanguageSupport } from "@codemirror/language";
import { phpLanguage } from "@codemirror/lang-php";

export const template = phpLanguage.configure({ top: "Template" });

export const extension = () => new LanguageSupport(template);
