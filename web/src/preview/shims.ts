// Replacements for features that a page with an opaque origin lacks: storage and
// cookies, which last as long as the page, and dialogs, which do not block. Takes
// WebRTC away.

import { Alerts } from "./alerts";
import { t } from "./words";

type Say = (words: string) => void;

/** Makes storage, cookies and dialogs of `window` work. */
export function giveShims(window: Window, say: Say): void {
  const alerts = new Alerts();
  const define = (target: object, name: string, descriptor: PropertyDescriptor) =>
    Object.defineProperty(target, name, { configurable: true, enumerable: true, ...descriptor });
  for (const name of ["localStorage", "sessionStorage"]) {
    define(window, name, { value: memoryStorage() });
  }
  // Only Chromium has a policy that blocks WebRTC, and it ends the process of a page that tries to use it.
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection"]) define(window, name, { value: undefined });
  const jar = new Jar();
  define(window.document, "cookie", { get: () => jar.text, set: (text: unknown) => jar.add(String(text)) });
  const answers: Readonly<Record<string, (message: string, value: string | null) => unknown>> = {
    alert: (message) => (say(`alert: ${message}`), alerts.show(message)),
    confirm: (message) => (say(t("frame.confirm", { message })), true),
    prompt: (message, value) => {
      say(t("frame.prompt", { message, value: JSON.stringify(value) }));
      return value;
    },
  };
  for (const [name, answer] of Object.entries(answers)) {
    const shim = (message: unknown = "", value?: unknown) =>
      answer(String(message).slice(0, 2000), value === undefined ? null : String(value));
    define(window, name, { value: shim, writable: true });
  }
}

/** Storage in memory. Like the real one, it has its items as properties, too. */
export function memoryStorage(): Storage {
  const items = new Map<string, string>();
  const methods = {
    getItem: (key: string) => items.get(String(key)) ?? null,
    setItem: (key: string, value: string) => void items.set(String(key), String(value)),
    removeItem: (key: string) => void items.delete(String(key)),
    clear: () => items.clear(),
    key: (index: number) => [...items.keys()][index] ?? null,
  };
  const isMethod = (key: string | symbol): key is keyof typeof methods => Object.hasOwn(methods, key);
  const isOwn = (key: string | symbol) => key === "length" || isMethod(key);
  const target = Object.create(typeof Storage === "function" ? Storage.prototype : Object.prototype) as Storage;
  return new Proxy(target, {
    get(_, key) {
      if (key === "length") return items.size;
      if (isMethod(key)) return methods[key];
      return typeof key === "string" ? items.get(key) : Reflect.get(target, key, target);
    },
    set(_, key, value) {
      if (typeof key === "string" && !isOwn(key)) items.set(key, String(value));
      return true;
    },
    has: (_, key) => isOwn(key) || (typeof key === "string" && items.has(key)),
    deleteProperty: (_, key) => (items.delete(String(key)), true),
    ownKeys: () => [...items.keys()],
    getOwnPropertyDescriptor(_, key) {
      const value = typeof key === "string" ? items.get(key) : undefined;
      return value === undefined ? undefined : { value, writable: true, enumerable: true, configurable: true };
    },
  });
}

/** Cookies, as document.cookie has them. */
export class Jar {
  private readonly cookies = new Map<string, string>();

  get text(): string {
    return [...this.cookies].map(([name, value]) => (name === "" ? value : `${name}=${value}`)).join("; ");
  }

  add(line: string): void {
    const [pair = "", ...attributes] = line.split(";");
    const equals = pair.indexOf("=");
    const name = equals < 0 ? "" : pair.slice(0, equals).trim();
    const isGone = attributes.some((attribute) => {
      const [key = "", value = ""] = attribute.split("=");
      const wanted = key.trim().toLowerCase();
      if (wanted === "max-age") return Number(value) <= 0;
      return wanted === "expires" && Date.parse(value) <= Date.now();
    });
    if (isGone) this.cookies.delete(name);
    else this.cookies.set(name, pair.slice(equals + 1).trim());
  }
}
