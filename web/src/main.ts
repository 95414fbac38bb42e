// The editor page: puts its parts together.

import "./styles/theme.css";
import "./styles/page.css";

import { readConfig, readParameters } from "./config";
import { byId } from "./dom";
import { Editor } from "./editor/editor";
import { FileTabs } from "./files/tabs";
import { OutputPanel } from "./output/panel";
import { RunButton } from "./run/button";
import { Session } from "./run/session";
import { Workspace } from "./workspace";

const config = readConfig(document);
const parameters = readParameters(location.search);
const workspace = new Workspace({ entryFile: config.entryFile, files: config.files, stdin: "" });
const session = new Session(config.language, workspace);
const output = new OutputPanel();

document.documentElement.dataset["theme"] = parameters.theme;

const code = byId("code");
code.replaceChildren();
new Editor({ workspace, parameters, nonce: config.nonce, parent: code, onRun: () => void session.start() });
new FileTabs(workspace, parameters.files === "edit" && !parameters.readonly);
new RunButton(session, output);

session.started.listen(() => output.begin());
session.ended.listen((answer) => output.show(answer));

const stdin = byId("stdin") as HTMLTextAreaElement;
stdin.addEventListener("input", () => workspace.setStdin(stdin.value));
if (parameters.run === "load") void session.start();
