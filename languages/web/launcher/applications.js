// The snapshot of the languages react and vue.
import { readFileSync } from "node:fs";
import { application } from "./application.js";
import { componentParts, forget } from "./component.js";
import { makeSnapshot } from "./main.js";

const framework = (language) => ({
  ...JSON.parse(readFileSync(`/opt/sandpiper/${language}.json`, "utf8")),
  componentParts,
  forget,
});

makeSnapshot(["react", "vue"], framework, application);
