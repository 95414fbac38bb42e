// The framework of documents, such as React. The page loads it once, and runs send
// documents without it.

/** The one that was loaded last. */
let last = { path: "", text: "" };
/** Whether it could always be loaded. */
let isThere = true;

/** Whether to ask for documents without it. */
export function takesFrameworks(): boolean {
  return isThere;
}

/** Loads the framework that an event names; `null` if it cannot be had. Then the page asks for no more of them. */
export async function frameworkAt(event: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<string | null> {
  const { path, integrity } = event;
  if (typeof path !== "string" || typeof integrity !== "string") return none();
  if (last.path === path) return last.text;
  try {
    // The browser keeps it for other visits. Bytes that somebody changed on the way are refused.
    const response = await fetch(path, { integrity, signal });
    if (!response.ok) return none();
    last = { path, text: await response.text() };
    return last.text;
  } catch (error) {
    if (signal.aborted) throw error;
    return none();
  }
}

function none(): null {
  isThere = false;
  return null;
}
