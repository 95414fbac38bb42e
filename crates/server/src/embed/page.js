// The editor page: sends the files to the compile endpoint and shows its answer.
"use strict";

const element = (id) => document.getElementById(id);

/** The compile request for what the page holds now. */
function request() {
  const areas = [...document.querySelectorAll("textarea[data-path]")];
  const entry = areas.find((area) => "entry" in area.dataset) ?? areas[0];
  return {
    language: element("editor").dataset.language,
    entryFile: entry.dataset.path,
    files: areas.map((area) => ({ path: area.dataset.path, content: area.value })),
    stdin: element("stdin").value,
  };
}

function show(status, stdout, stderr) {
  element("status").textContent = status;
  element("stdout").textContent = stdout;
  element("stderr").textContent = stderr;
}

async function run() {
  show("Running…", "", "");
  const response = await fetch("api/compile", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request()),
  });
  const answer = await response.json();
  if (response.ok) {
    show(response.headers.get("Sandpiper-Exit") ?? "", answer.stdout, answer.stderr);
  } else {
    show(`Not run: ${answer.error}`, "", "");
  }
}

element("editor").addEventListener("submit", async (event) => {
  event.preventDefault();
  element("run").disabled = true;
  try {
    await run();
  } catch (error) {
    show(`Not run: the server cannot be reached (${error.message})`, "", "");
  } finally {
    element("run").disabled = false;
  }
});
