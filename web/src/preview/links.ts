// In the frame: the links and forms of a page. Those to other pages of the program
// are followed by the editor, which builds them; nothing else is opened.

import { MAX_ADDRESS, MAX_SAVE, type FromFrame } from "./protocol";
import { t } from "./words";

// A page may replace it, and our code in documents with files does.
const { fetch } = window;

interface Reports {
  send: (message: FromFrame) => void;
  say: (text: string) => void;
}

/** Addresses that lead to no file of the program. */
const ELSEWHERE = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i;

/**
 * A link to another page would leave an empty frame, since the policy allows no
 * loading. So would a link to a part of the page, which browsers resolve against
 * the outer frame.
 */
export function watchLinks({ send, say }: Reports): void {
  // After all other listeners: the page may handle its links itself.
  const follow = (event: Event) => {
    const target = event.target instanceof Element ? event.target.closest("a[href], area[href]") : null;
    const address = target?.getAttribute("href")?.trim() ?? "";
    if (event.defaultPrevented || target === null || /^javascript:/i.test(address)) return;
    event.preventDefault();
    if (address === "") return;
    const name = target.getAttribute("download");
    if (name !== null) void save(name, address);
    else if (address.startsWith("#")) location.hash = address;
    else if (ELSEWHERE.test(address)) say(t("frame.not-opened", { address: address.slice(0, 200) }));
    else send({ type: "follow", address: address.slice(0, MAX_ADDRESS), form: "" });
  };
  addEventListener.call(window, "click", follow);
  const save = async (name: string, address: string) => {
    const last = /^(?:blob|data):/i.test(address) ? "" : (/[^/]*$/.exec(address.split(/[?#]/, 1)[0] ?? "")?.[0] ?? "");
    const short = { name: (name || last).slice(-MAX_ADDRESS), address: address.slice(0, MAX_ADDRESS) };
    // A file of the program: the editor has it.
    if (!ELSEWHERE.test(address)) return send({ type: "save", ...short, content: null });
    // At once: the page may take the address back right after the click.
    const content = await fetch(address).then((answer) => answer.blob()).catch(() => null);
    if (content === null) say(t("frame.not-saved-unread", { address: address.slice(0, 200) }));
    else if (content.size > MAX_SAVE) say(t("frame.not-saved-large", { name: short.name.slice(0, 200), most: String(MAX_SAVE >> 20) }));
    else send({ type: "save", ...short, address: "", content });
  };
  watchDetached(follow);
}

/** Scripts click at links that are not in the document, to download: no listener of the window hears of that. */
function watchDetached(follow: (event: Event) => void): void {
  const { prototype } = HTMLAnchorElement;
  const { click, dispatchEvent } = prototype;
  const watch = (link: HTMLAnchorElement) => {
    if (!link.isConnected) link.addEventListener("click", follow);
  };
  prototype.click = function () {
    watch(this);
    click.call(this);
  };
  prototype.dispatchEvent = function (event) {
    watch(this);
    return dispatchEvent.call(this, event);
  };
}

/** A form that is sent would also leave an empty frame. */
export function watchForms({ send, say }: Reports): void {
  const report = (form: HTMLFormElement, submitter: HTMLElement | null) => {
    const asked = (name: string) => submitter?.getAttribute(`form${name}`) ?? form.getAttribute(name) ?? "";
    const method = /^post$/i.test(asked("method")) ? "POST" : "GET";
    const fields = new URLSearchParams();
    for (const [name, value] of new FormData(form, submitter)) {
      fields.append(name, typeof value === "string" ? value : value.name);
    }
    const [address = ""] = asked("action").trim().split("#", 1);
    const query = fields.size > 0 ? `${method === "GET" ? "?" : " "}${fields}` : "";
    const target = method === "GET" ? (address.split("?", 1)[0] ?? "") : address;
    const words = `${method} ${target}${query}`.slice(0, MAX_ADDRESS);
    if (method === "POST" || target === "" || ELSEWHERE.test(target)) say(t("frame.not-sent", { form: words }));
    else send({ type: "follow", address: target.slice(0, MAX_ADDRESS), form: words });
  };
  const submit = (event: SubmitEvent) => {
    const form = event.target;
    if (event.defaultPrevented || !(form instanceof HTMLFormElement)) return;
    const method = event.submitter?.getAttribute("formmethod") ?? form.getAttribute("method") ?? "";
    if (/^dialog$/i.test(method)) return;
    event.preventDefault();
    report(form, event.submitter);
  };
  // After all other listeners: the page may handle its forms itself.
  addEventListener.call(window, "submit", submit as (event: Event) => void);
  // This method sends a form without an event.
  HTMLFormElement.prototype.submit = function () {
    report(this, null);
  };
}
