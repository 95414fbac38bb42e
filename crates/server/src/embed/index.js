// The script of the index page: fills in the address of this server, shows the
// line of the chosen language, and copies.
"use strict";
{
  const base = new URL(".", location.href).href;
  const fill = (root) => {
    for (const place of root.querySelectorAll("[data-base]")) place.textContent = base;
  };
  fill(document);

  const snippet = document.getElementById("snippet");
  const links = document.querySelectorAll(".languages a");
  for (const link of links) {
    link.addEventListener("click", () => {
      for (const other of links) other.removeAttribute("aria-current");
      link.setAttribute("aria-current", "true");
      const own = document.getElementById(`snippet-${link.dataset.id}`);
      snippet.replaceChildren(...own.cloneNode(true).childNodes);
    });
  }

  for (const pre of document.querySelectorAll("figure pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(pre.textContent);
        button.textContent = "Copied";
      } catch {
        // Without https there is no clipboard: the text is selected instead.
        getSelection().selectAllChildren(pre);
        button.textContent = "Selected";
      }
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    pre.after(button);
  }
}
