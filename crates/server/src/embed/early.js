// Acts until the script of the editor page runs: remembers a click on Run for
// it, and reports if that script cannot be loaded.
"use strict";
{
  const root = document.documentElement;
  // web/src/main.ts removes it, and starts the run that it asks for.
  root.dataset.early = "";
  let isLost = false;
  const isEarly = () => root.dataset.early !== undefined;
  // `name`: of the attribute that has the words.
  const say = (name) => {
    const status = document.getElementById("status");
    status.textContent = status.dataset[name];
  };
  const fail = () => {
    isLost = true;
    say("lost");
  };
  const run = () => {
    if (isLost) return fail();
    root.dataset.early = "run";
    say("loading");
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
  // Load errors of elements do not bubble: they are caught on the way down.
  addEventListener("error", onError, true);
}
