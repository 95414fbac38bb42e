// Reads the styles that a page gives to words of its console (%c). Only these
// properties and forms of values are taken: none can load or refer to anything.

const COLOUR = /^(?:#[\da-f]{3,8}|[a-z]{3,30}|(?:rgb|hsl)a?\([\d\s.,%/+-]{1,60}(?:deg)?[\d\s.,%/+-]{0,60}\))$/i;
const PROPERTIES: Readonly<Record<string, { name: string; value: RegExp }>> = {
  "color": { name: "color", value: COLOUR },
  "background": { name: "background-color", value: COLOUR },
  "background-color": { name: "background-color", value: COLOUR },
  "font-weight": { name: "font-weight", value: /^(?:normal|bold|bolder|lighter|[1-9]00)$/i },
  "font-style": { name: "font-style", value: /^(?:normal|italic|oblique)$/i },
  "text-decoration": { name: "text-decoration-line", value: /^(?:none|underline|overline|line-through)$/i },
  "text-decoration-line": { name: "text-decoration-line", value: /^(?:none|underline|overline|line-through)$/i },
  "font-size": { name: "font-size", value: /^\d{1,3}(?:\.\d{1,3})?(?:px|pt|em|rem|%)$/i },
};

/** The properties that are allowed, with their values. */
export function allowedStyles(css: string): [name: string, value: string][] {
  return css.split(";").flatMap((declaration): [string, string][] => {
    const colon = declaration.indexOf(":");
    const name = declaration.slice(0, Math.max(0, colon)).trim().toLowerCase();
    const value = declaration.slice(colon + 1).trim();
    const known = Object.hasOwn(PROPERTIES, name) ? PROPERTIES[name] : undefined;
    if (known === undefined || !known.value.test(value)) return [];
    // Larger words would hide the others, smaller ones cannot be read.
    return [[known.name, known.name === "font-size" ? `clamp(8px, ${value}, 32px)` : value]];
  });
}
