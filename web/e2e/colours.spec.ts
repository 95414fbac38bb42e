// The starter of every language has the colours of the palette, in both themes.

import { embed, expect, languages, test } from "./service";

/** As checked for contrast on the page and on the active line. */
const PALETTE = {
  light: { keyword: "rgb(122, 0, 131)", string: "rgb(143, 42, 0)", tag: "rgb(17, 99, 41)" },
  dark: { keyword: "rgb(215, 166, 255)", string: "rgb(255, 179, 138)", tag: "rgb(126, 231, 135)" },
};

/** A word of the starter, and how a string of it begins. */
const WORDS: Readonly<Record<(typeof languages)[number], { keyword?: string; tag?: string; string: string }>> = {
  python: { keyword: "import", string: '"""' },
  c: { keyword: "for", string: '"fraction.h"' },
  cpp: { keyword: "for", string: '".#......"' },
  java: { keyword: "public", string: '"%-28s' },
  php: { keyword: "foreach", string: "'goods.php'" },
  csharp: { keyword: "foreach", string: '"Sandpiper"' },
  mysql: { keyword: "INSERT", string: "'Solaris'" },
  mongodb: { keyword: "const", string: "'Solaris'" },
  web: { tag: "meta", string: '"utf-8"' },
  react: { keyword: "import", string: '"react"' },
  vue: { keyword: "import", string: '"vue"' },
};

for (const language of languages) {
  test(`${language}: keywords and strings`, async ({ page, service }) => {
    const frame = await embed(page, service, `lang=${language}`);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const [kind, begin] of Object.entries(WORDS[language])) {
        const token = frame.locator(".cm-line span", { hasText: begin });
        // The innermost of nested ones.
        await expect(token.last()).toHaveCSS("color", PALETTE[colorScheme][kind as "keyword"]);
      }
    }
  });
}
