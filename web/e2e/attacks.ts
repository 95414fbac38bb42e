// Documents that try to get out: each reaches its canary from a plain page, and
// must not from the preview.

/** A document's attempt to make its browser send something to `url`. */
export interface Attack {
  name: string;
  html: (url: string) => string;
  /** It needs a document of its own: its success replaces this document or the page around, or it needs a visible one. */
  alone?: true;
  /** Only the whole browser does it. */
  whole?: true;
  /** Chromium 156 ends the process of the preview that tries, and Playwright then knows nothing more of the page. */
  ends?: true;
}

const script = (code: (url: string) => string) => (url: string) => `<body><script>{ ${code(url)} }</script>`;
const click = (attributes: string) => (url: string) =>
  `<a href="${url}" ${attributes}>x</a><script>document.currentScript.previousSibling.click()</script>`;
const submit = (attributes: string) => (url: string) =>
  `<form action="${url}" ${attributes}></form><script>document.currentScript.previousSibling.submit()</script>`;
const quoted = (url: string) => JSON.stringify(url);
const worker = (type: string, code: (url: string) => string) =>
  script((url) => `new Worker(${type}([${JSON.stringify(code(url))}]))`);
const styled = (declaration: (url: string) => string) => (url: string) => `<p style="${declaration(url)}">x</p>`;
const link = (attributes: string) => (url: string) => `<link href="${url}" ${attributes}>`;
const svg = (content: (url: string) => string) => (url: string) => `<svg width="9" height="9">${content(url)}</svg>`;
/** In a frame of its own, which none of our code has prepared. */
const framed = (html: (url: string) => string) => (url: string) =>
  `<iframe srcdoc="${html(url).replaceAll("&", "&amp;").replaceAll('"', "&quot;")}"></iframe>`;
const rtc = (server: (host: string) => string) =>
  script((url) => `const c = new RTCPeerConnection({ iceServers: [{ urls: "${server(host(url))}", username: "u", credential: "p" }] });
    c.createDataChannel("d"); c.createOffer().then((offer) => c.setLocalDescription(offer))`);
const host = (url: string) => url.replace("http://", "");
const blob = "((parts, type = 'text/javascript') => URL.createObjectURL(new Blob(parts, { type })))";
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
  { name: "base", html: (url) => `<base href="${url}/"><img src="x">`, alone: true },
  { name: "refresh", html: (url) => `<meta http-equiv="refresh" content="0;url=${url}">`, alone: true },
  { name: "location", html: script((url) => `location = ${quoted(url)}`), alone: true },
  { name: "location-top", html: script((url) => `top.location = ${quoted(url)}`), alone: true },
  { name: "location-parent", html: script((url) => `parent.location = ${quoted(url)}`), alone: true },
  { name: "location-editor", html: script((url) => `(parent.parent ?? window).location.replace(${quoted(url)})`), alone: true },
  { name: "link", html: click(""), alone: true },
  { name: "link-top", html: click("target=_top"), alone: true },
  { name: "link-parent", html: click("target=_parent"), alone: true },
  { name: "link-blank", html: click("target=_blank") },
  { name: "link-opener", html: click("target=_blank rel=opener") },
  { name: "link-ping", html: (url) => `<a href="#here" ping="${url}">x</a><script>document.currentScript.previousSibling.click()</script>` },
  { name: "open", html: script((url) => `window.open(${quoted(url)})`) },
  { name: "open-noopener", html: script((url) => `window.open(${quoted(url)}, "_blank", "noopener")`) },
  { name: "open-top", html: script((url) => `window.open(${quoted(url)}, "_top")`), alone: true },
  { name: "open-blank", html: script((url) => `const w = window.open(); w.document.write("<img src=${url}>")`) },
  { name: "form", html: submit(""), alone: true },
  { name: "form-post", html: submit('method="post"'), alone: true },
  { name: "form-blank", html: submit('target="_blank"') },
  { name: "worklet", html: script((url) => `new AudioContext().audioWorklet.addModule(${quoted(url)}).catch(() => {})`) },
  // Connections without a request.
  { name: "preconnect", html: link("rel=preconnect"), whole: true },
  { name: "preconnect-anonymous", html: link("rel=preconnect crossorigin"), whole: true },
  { name: "preconnect-names", html: link('rel="dns-prefetch preconnect"'), whole: true },
  { name: "preconnect-script", html: script((url) => `const l = document.createElement("link");
    l.rel = "preconnect"; l.href = ${quoted(url)}; document.head.append(l)`), whole: true },
  { name: "preconnect-frame", html: framed(link("rel=preconnect")), whole: true },
  { name: "preconnect-frame-data", html: (url) => `<iframe src="data:text/html,<link rel=preconnect href=${url}>"></iframe>`, whole: true },
  { name: "preconnect-frame-blob", html: script((url) => `const f = document.createElement("iframe");
    f.src = ${blob}(["<link rel=preconnect href=${url}>"], "text/html"); document.body.append(f)`), whole: true },
  // Hints. Plain pages request nothing here for rel=prerender, icon and manifest,
  // attributionsrc and a method of payment, so these would show nothing.
  { name: "prefetch-document", html: link("rel=prefetch as=document") },
  { name: "preload-script", html: link("rel=preload as=script") },
  { name: "preload-style", html: link("rel=preload as=style") },
  { name: "preload-font", html: link("rel=preload as=font crossorigin") },
  { name: "preload-fetch", html: link("rel=preload as=fetch crossorigin") },
  { name: "preload-set", html: (url) => `<link rel="preload" as="image" imagesrcset="${url} 1x">` },
  { name: "stylesheet-alternate", html: link('rel="alternate stylesheet" title="x"') },
  { name: "stylesheet-print", html: link("rel=stylesheet media=print") },
  // Requests by script.
  { name: "websocket-stream", html: script((url) => `new WebSocketStream(${quoted(url.replace("http", "ws"))})`) },
  { name: "fetch-post", html: script((url) => `fetch(${quoted(url)}, { method: "POST", body: "x", mode: "no-cors" })`) },
  { name: "fetch-later", html: script((url) => `fetchLater(${quoted(url)}, { activateAfter: 0 })`) },
  { name: "xhr-waits", html: script((url) => `const x = new XMLHttpRequest(); x.open("GET", ${quoted(url)}, false); x.send()`) },
  { name: "cache", html: script((url) => `caches.open("c").then((c) => c.add(${quoted(url)}))`) },
  { name: "script-written", html: script((url) => `document.write("<script src=${url}><\\/script>")`) },
  { name: "import-json", html: script((url) => `import(${quoted(url)}, { with: { type: "json" } }).catch(() => {})`) },
  { name: "import-style", html: script((url) => `import(${quoted(url)}, { with: { type: "css" } }).catch(() => {})`) },
  { name: "font-face", html: script((url) => `new FontFace("g", "url(${url})").load().catch(() => {})`) },
  { name: "worklet-paint", html: script((url) => `CSS.paintWorklet.addModule(${quoted(url)}).catch(() => {})`) },
  { name: "worker-websocket", html: worker(blob, (url) => `new WebSocket(${quoted(url.replace("http", "ws"))})`) },
  { name: "worker-eventsource", html: worker(blob, (url) => `new EventSource(${quoted(url)})`) },
  { name: "worker-xhr", html: worker(data, (url) => `const x = new XMLHttpRequest(); x.open("GET", ${quoted(url)}); x.send()`) },
  { name: "worker-module", html: script((url) => `new Worker(${blob}(['import ${quoted(url)}']), { type: "module" })`) },
  { name: "worker-worker", html: worker(blob, (url) =>
    `new Worker("data:text/javascript," + encodeURIComponent('fetch(${quoted(url)}, { mode: "no-cors" })'))`) },
  { name: "worker-shared", html: script((url) => `new SharedWorker(${blob}(['fetch(${quoted(url)}, { mode: "no-cors" })']))`) },
  // Pictures, sound and type.
  { name: "srcset", html: (url) => `<img srcset="${url} 1x">` },
  { name: "image-lazy", html: (url) => `<img loading="lazy" src="${url}">` },
  { name: "image-alias", html: (url) => `<image src="${url}">` },
  { name: "background-cell", html: (url) => `<table background="${url}"><tr><td>x</table>` },
  { name: "video-source", html: (url) => `<video preload="auto"><source src="${url}" type="video/mp4"></video>` },
  { name: "audio-element", html: (url) => `<audio src="${url}" preload="auto"></audio>` },
  { name: "track", html: (url) => `<video crossorigin><track default kind="subtitles" src="${url}"></video>` },
  { name: "object-image", html: (url) => `<object type="image/svg+xml" data="${url}"></object>` },
  { name: "embed-image", html: (url) => `<embed type="image/png" src="${url}">` },
  // Styles.
  { name: "style-set", html: styled((url) => `background: image-set('${url}' 1x)`) },
  { name: "style-list", html: styled((url) => `display: list-item; list-style-image: url(${url})`) },
  { name: "style-border", html: styled((url) => `border: 9px solid; border-image: url(${url}) 9`) },
  { name: "style-mask", html: styled((url) => `mask-image: url(${url})`) },
  { name: "style-shape", html: styled((url) => `float: left; shape-outside: url(${url})`) },
  { name: "style-cursor", html: styled((url) => `cursor: url(${url}), auto`) },
  { name: "style-content", html: (url) => `<style>b::before { content: url(${url}) }</style><b>x</b>` },
  { name: "style-import-layer", html: (url) => `<style>@import "${url}" layer(x) supports(display: block);</style>` },
  { name: "style-sheet", html: framed((url) => `<style>@import "${url}"</style>`) },
  // SVG.
  { name: "svg-filter", html: svg((url) => `<filter id="f"><feImage href="${url}"/></filter><rect width="9" height="9" filter="url(#f)"/>`) },
  { name: "svg-script", html: svg((url) => `<script href="${url}"></script>`) },
  { name: "svg-xlink", html: svg((url) => `<image xlink:href="${url}" width="9" height="9"/>`) },
  { name: "svg-style", html: svg((url) => `<style>@import "${url}";</style>`) },
  { name: "svg-foreign", html: svg((url) => `<foreignObject width="9" height="9"><img src="${url}"></foreignObject>`) },
  // Frames that go elsewhere.
  { name: "frame-location", html: framed(script((url) => `location.href = ${quoted(url)}`)) },
  { name: "frame-refresh", html: framed((url) => `<meta http-equiv="refresh" content="0;url=${url}">`) },
  { name: "frame-form", html: framed(submit('method="post"')) },
  { name: "frame-link", html: framed(click("")) },
  { name: "frame-named", html: (url) => `<iframe name="n"></iframe>${click("target=n")(url)}` },
  { name: "frame-script", html: (url) => `<iframe src="javascript:location = '${url}'"></iframe>` },
  { name: "frame-object", html: (url) => `<object type="text/html" data="${url}"></object>` },
  { name: "link-download", html: click("download"), alone: true },
  { name: "area-ping", html: (url) => `<map><area href="#there" ping="${url}"></map><script>document.currentScript.previousSibling.firstChild.click()</script>` },
  // The document itself goes elsewhere.
  { name: "location-href", html: script((url) => `location.href = ${quoted(url)}`), alone: true },
  { name: "location-assign", html: script((url) => `location.assign(${quoted(url)})`), alone: true },
  { name: "location-replace", html: script((url) => `location.replace(${quoted(url)})`), alone: true },
  { name: "location-waits", html: script((url) => `setTimeout(() => { location = ${quoted(url)} })`), alone: true },
  { name: "navigation", html: script((url) => `navigation.navigate(${quoted(url)})`), alone: true },
  { name: "open-self", html: script((url) => `window.open(${quoted(url)}, "_self")`), alone: true },
  { name: "refresh-script", html: script((url) => `const m = document.createElement("meta");
    m.httpEquiv = "refresh"; m.content = "0;url=${url}"; document.head.append(m)`), alone: true },
  { name: "link-svg", html: (url) => `<svg><a href="${url}"><text>x</text></a></svg>
    <script>document.querySelector("svg a").dispatchEvent(new MouseEvent("click"))</script>`, alone: true },
  { name: "link-base", html: (url) => `<base href="${url}/">${click("")("x")}`, alone: true },
  { name: "form-button", html: (url) => `<form><button formaction="${url}"></button></form>
    <script>document.querySelector("button").click()</script>`, alone: true },
  { name: "form-request", html: (url) => `<form action="${url}"></form><script>document.forms[0].requestSubmit()</script>`, alone: true },
  { name: "speculation-prefetch", html: (url) => `<script type="speculationrules">
    {"prefetch": [{"urls": [${quoted(url)}], "eagerness": "immediate"}]}</script>`, alone: true },
  { name: "speculation-prerender", html: (url) => `<script type="speculationrules">
    {"prerender": [{"urls": [${quoted(url)}], "eagerness": "immediate"}]}</script>`, alone: true },
  // Without TCP, and without anything of ours that hides it.
  { name: "webtransport", html: script((url) => `new WebTransport(${quoted(url.replace("http", "https"))}).ready.catch(() => {})`) },
  { name: "worker-webtransport", html: worker(blob, (url) => `new WebTransport(${quoted(url.replace("http", "https"))})`) },
  { name: "rtc-stun", html: framed(rtc((at) => `stun:${at}`)), ends: true },
  { name: "rtc-turn", html: framed(rtc((at) => `turn:${at}?transport=udp`)), ends: true },
  { name: "rtc-turn-tcp", html: framed(rtc((at) => `turn:${at}?transport=tcp`)), ends: true },
  { name: "rtc-turn-tls", html: framed(rtc((at) => `turns:${at}?transport=tcp`)), ends: true },
  { name: "rtc-peer", html: framed(script((url) => {
    const [address, port] = host(url).split(":");
    return `const c = new RTCPeerConnection(); c.createDataChannel("d");
      c.createOffer().then(async (offer) => {
        await c.setLocalDescription(offer);
        const answer = offer.sdp.replace("actpass", "active").replaceAll(/^a=candidate.*\\r\\n/gm, "");
        await c.setRemoteDescription({ type: "answer", sdp: answer });
        await c.addIceCandidate({ candidate: "candidate:1 1 udp 1 ${address} ${port} typ host", sdpMid: "0" });
      })`;
  })), ends: true },
];
