// Copying, where the browser and the embedding page let us.

/** Whether the text is on the clipboard now. */
export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without https or the frame's permission there is no such clipboard.
    return false;
  }
}
