// Ctrl+Enter that is held is one run, not one for each repeat. Before this is loaded, all of them are one anyway.

export function runOnce(): void {
  const onKey = (event: KeyboardEvent) => {
    const { key, ctrlKey, metaKey, repeat } = event;
    if (!repeat || key !== "Enter" || !(ctrlKey || metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  // Before the editor, which has the key, too.
  document.addEventListener("keydown", onKey, true);
}
