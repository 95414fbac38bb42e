// The names of the languages: the values of `lang`, and what people write for
// them. For embed.js, too, which the editor shares no other code with.

const NAMES: Readonly<Record<string, string>> = {
  python: "python", py: "python", python3: "python",
  c: "c",
  cpp: "cpp", "c++": "cpp",
  java: "java",
  php: "php",
  csharp: "csharp", cs: "csharp", "c#": "csharp",
  mysql: "mysql",
  mongodb: "mongodb",
  web: "web", html: "web",
  react: "react",
  vue: "vue",
};

/** The language that is meant; `null` where it is none that runs. */
export function languageOf(name: string): string | null {
  const known = name.trim().toLowerCase();
  return Object.hasOwn(NAMES, known) ? (NAMES[known] ?? null) : null;
}
