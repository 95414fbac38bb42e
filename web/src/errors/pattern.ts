// Patterns that a language's definition gives, as regular expressions.

/** The expression; one that matches nothing, with a warning, if `source` is not valid. */
export function expression(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, flags);
  } catch (error) {
    console.warn(`The definition of the language has an invalid pattern: ${String(error)}`);
    return new RegExp("(?!)", flags);
  }
}

/** A pattern that matches this text and nothing else. */
export function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
