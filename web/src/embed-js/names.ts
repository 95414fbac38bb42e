// The languages by the names that people write for them.

/** The aliases of every language of the server, by its id. */
export type LanguageNames = Readonly<Record<string, readonly string[]>>;

/** The id of the language with this name; `null` if the server has none. */
export function languageOf(name: string, names: LanguageNames): string | null {
  const known = name.trim().toLowerCase();
  const found = Object.entries(names).find(([id, aliases]) => id === known || aliases.includes(known));
  return found?.[0] ?? null;
}
