// Until the script of the editor page runs: a wish to run is kept for it, and
// the page says so if that script never comes.
"use strict";
{
  const root = document.documentElement;
  // web/src/main.ts takes it away, and does what it says.
  root.dataset.early = "";
  let isLost = false;
  const isEarly = () => root.dataset.early !== undefined;
  const say = (words) => {
    document.getElementById("status").textContent = words;
  };
  const fail = () => {
    isLost = true;
    say("Not run: the editor could not be loaded. Check the connection, and load the page again.");
  };
  const run = () => {
    if (isLost) return fail();
    root.dataset.early = "run";
    say("Loading the editor…");
  };
  addEventListener("click", ({ target }) => {
    if (isEarly() && target instanceof Element && target.closest("#run")) run();
  });
  addEventListener("keydown", (event) => {
    if (!isEarly() || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    run();
  });
  const onError = ({ target }) => {
    if (!isEarly() || !(target instanceof HTMLScriptElement)) return;
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", fail);
    else fail();
  };
  // What an element could not load is heard on its way down only.
  addEventListener("error", onError, true);
}
