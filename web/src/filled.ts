// Puts values into words.

/** The text with the value in place of each `{name}`; a name without a value stays. */
export function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder);
}
