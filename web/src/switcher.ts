// The list of languages in the bar of /editor, if its address names some.

const MOVES = new Set(["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "Home", "End", "PageDown", "PageUp"]);

/** Opens the page of the language that a person chooses; the parameters stay. */
export function makeSwitcher(language: string): void {
  const list = document.getElementById("language");
  if (!(list instanceof HTMLSelectElement)) return;
  const change = () => {
    if (list.value === language) return;
    const url = new URL(location.href);
    url.searchParams.set("lang", list.value);
    // The code of the link is in another language.
    url.hash = "";
    location.assign(url);
  };
  // In a list that is closed these keys choose at once: a person could not get past the next language.
  let isPassing = false;
  list.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && isPassing) change();
    if (!MOVES.has(event.key)) return;
    try {
      list.showPicker();
      event.preventDefault();
    } catch {
      // No frame of another site may open it: Enter, or leaving the list, chooses.
      isPassing = true;
    }
  });
  list.addEventListener("pointerdown", () => (isPassing = false));
  list.addEventListener("change", () => isPassing || change());
  list.addEventListener("blur", change);
  // Going back may show this very page again.
  addEventListener("pageshow", ({ persisted }) => persisted && (list.value = language));
  // A choice that came before this was loaded.
  change();
}
