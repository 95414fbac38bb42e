// Documents that try to get out: each reaches the canary from a plain page, and
// must not from the preview.

/** What a document does to make its browser ask for `url`. */
export interface Attack {
  name: string;
  html: (url: string) => string;
  /** Where it succeeds, its document or the page around is gone, and it needs one of its own. */
  leaves?: true;
}

const script = (code: (url: string) => string) => (url: string) => `<body><script>${code(url)}</script>`;
const click = (attributes: string) => (url: string) =>
  `<a href="${url}" ${attributes}>x</a><script>document.currentScript.previousSibling.click()</script>`;
const submit = (attributes: string) => (url: string) =>
  `<form action="${url}" ${attributes}></form><script>document.currentScript.previousSibling.submit()</script>`;
const quoted = (url: string) => JSON.stringify(url);
const worker = (type: string, code: (url: string) => string) =>
  script((url) => `new Worker(${type}([${JSON.stringify(code(url))}]))`);
const blob = "((parts) => URL.createObjectURL(new Blob(parts)))";
const data = "((parts) => 'data:text/javascript,' + encodeURIComponent(parts[0]))";

export const attacks: readonly Attack[] = [
  { name: "fetch", html: script((url) => `fetch(${quoted(url)}, { mode: "no-cors" }).catch(() => {})`) },
  { name: "fetch-keepalive", html: script((url) => `fetch(${quoted(url)}, { mode: "no-cors", keepalive: true })`) },
  { name: "xhr", html: script((url) => `const x = new XMLHttpRequest(); x.open("GET", ${quoted(url)}); x.send()`) },
  { name: "beacon", html: script((url) => `navigator.sendBeacon(${quoted(url)}, "x")`) },
  { name: "websocket", html: script((url) => `new WebSocket(${quoted(url.replace("http", "ws"))})`) },
  { name: "eventsource", html: script((url) => `new EventSource(${quoted(url)})`) },
  { name: "image", html: (url) => `<img src="${url}">` },
  { name: "image-by-script", html: script((url) => `new Image().src = ${quoted(url)}`) },
  { name: "picture", html: (url) => `<picture><source srcset="${url}"><img></picture>` },
  { name: "input-image", html: (url) => `<input type="image" src="${url}">` },
  { name: "svg-image", html: (url) => `<svg width="9" height="9"><image href="${url}" width="9" height="9"/></svg>` },
  { name: "background", html: (url) => `<body style="background: url(${url})">` },
  { name: "stylesheet", html: (url) => `<link rel="stylesheet" href="${url}">` },
  { name: "style-import", html: (url) => `<style>@import url(${url})</style>` },
  { name: "font", html: (url) => `<style>@font-face { font-family: f; src: url(${url}) } p { font: 9px f }</style><p>x` },
  { name: "script", html: (url) => `<script src="${url}"></script>` },
  { name: "import", html: script((url) => `import(${quoted(url)}).catch(() => {})`) },
  { name: "module", html: (url) => `<script type="module">import ${quoted(url)}</script>` },
  { name: "worker-blob", html: worker(blob, (url) => `fetch(${quoted(url)}, { mode: "no-cors" })`) },
  { name: "worker-data", html: worker(data, (url) => `fetch(${quoted(url)}, { mode: "no-cors" })`) },
  { name: "worker-import", html: worker(blob, (url) => `importScripts(${quoted(url)})`) },
  { name: "video", html: (url) => `<video src="${url}" preload="auto"></video>` },
  { name: "audio", html: script((url) => `new Audio(${quoted(url)}).load()`) },
  { name: "poster", html: (url) => `<video poster="${url}"></video>` },
  { name: "object", html: (url) => `<object data="${url}"></object>` },
  { name: "embed", html: (url) => `<embed src="${url}">` },
  { name: "frame", html: (url) => `<iframe src="${url}"></iframe>` },
  { name: "frame-srcdoc", html: (url) => `<iframe srcdoc="<img src=${url}>"></iframe>` },
  { name: "frame-data", html: (url) => `<iframe src="data:text/html,<img src=${url}>"></iframe>` },
  { name: "frame-blob", html: script((url) => `const f = document.createElement("iframe");
    f.src = URL.createObjectURL(new Blob(["<img src=${url}>"], { type: "text/html" })); document.body.append(f)`) },
  { name: "prefetch", html: (url) => `<link rel="prefetch" href="${url}">` },
  { name: "preload", html: (url) => `<link rel="preload" as="image" href="${url}">` },
  { name: "modulepreload", html: (url) => `<link rel="modulepreload" href="${url}">` },
  { name: "base", html: (url) => `<base href="${url}/"><img src="x">`, leaves: true },
  { name: "refresh", html: (url) => `<meta http-equiv="refresh" content="0;url=${url}">`, leaves: true },
  { name: "location", html: script((url) => `location = ${quoted(url)}`), leaves: true },
  { name: "location-top", html: script((url) => `top.location = ${quoted(url)}`), leaves: true },
  { name: "location-parent", html: script((url) => `parent.location = ${quoted(url)}`), leaves: true },
  { name: "location-editor", html: script((url) => `(parent.parent ?? window).location.replace(${quoted(url)})`), leaves: true },
  { name: "link", html: click(""), leaves: true },
  { name: "link-top", html: click("target=_top"), leaves: true },
  { name: "link-parent", html: click("target=_parent"), leaves: true },
  { name: "link-blank", html: click("target=_blank") },
  { name: "link-opener", html: click("target=_blank rel=opener") },
  { name: "link-ping", html: (url) => `<a href="#here" ping="${url}">x</a><script>document.currentScript.previousSibling.click()</script>` },
  { name: "open", html: script((url) => `window.open(${quoted(url)})`) },
  { name: "open-noopener", html: script((url) => `window.open(${quoted(url)}, "_blank", "noopener")`) },
  { name: "open-top", html: script((url) => `window.open(${quoted(url)}, "_top")`), leaves: true },
  { name: "open-blank", html: script((url) => `const w = window.open(); w.document.write("<img src=${url}>")`) },
  { name: "form", html: submit(""), leaves: true },
  { name: "form-post", html: submit('method="post"'), leaves: true },
  { name: "form-blank", html: submit('target="_blank"') },
  { name: "worklet", html: script((url) => `new AudioContext().audioWorklet.addModule(${quoted(url)}).catch(() => {})`) },
];
