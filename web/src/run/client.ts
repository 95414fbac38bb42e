// One request to the compile endpoint, and its answer.

import type { Snapshot } from "../workspace";

/** The program was run. */
export interface RunResult {
  kind: "ran";
  stdout: string;
  stderr: string;
  /** From the `Sandpiper-Exit` header. */
  exit: Exit;
  /** Milliseconds by stage, from the `Server-Timing` header. */
  timings: Readonly<Record<string, number>>;
  /** Milliseconds from the request to the answer, as the person waited. */
  elapsedMs: number;
}

export interface Exit {
  stage: "compile" | "run";
  code?: number;
  signal?: string;
  limit?: string;
}

/** The program was not run. */
export type Refusal =
  | { kind: "limited"; retryAfterMs: number | null }
  | { kind: "busy"; message: string; retryAfterMs: number | null }
  | { kind: "too-large"; message: string }
  /** Without a message the answer is not the service's, but a proxy's, or that of a network that wants a login. */
  | { kind: "refused"; status: number; message: string }
  | { kind: "lost"; isOffline: boolean }
  | { kind: "stopped" };

export type Answer = RunResult | Refusal;

/** Sends the files. Aborting closes the connection, and the server ends the run. */
export async function run(language: string, snapshot: Snapshot, signal: AbortSignal): Promise<Answer> {
  const started = performance.now();
  try {
    const response = await fetch("api/compile", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ language, ...snapshot }),
      signal,
    });
    const body = parsed(await response.text());
    if (!response.ok) return refusal(response, body);
    if (typeof body?.["stdout"] !== "string" || typeof body["stderr"] !== "string") {
      // The answer of the service, but cut off, or a page of a server in between.
      const isJson = response.headers.get("Content-Type")?.startsWith("application/json") === true;
      return isJson ? lost() : { kind: "refused", status: response.status, message: "" };
    }
    return {
      kind: "ran",
      stdout: body["stdout"],
      stderr: body["stderr"],
      exit: parseExit(response.headers.get("Sandpiper-Exit") ?? ""),
      timings: parseTimings(response.headers.get("Server-Timing") ?? ""),
      elapsedMs: performance.now() - started,
    };
  } catch {
    return signal.aborted ? { kind: "stopped" } : lost();
  }
}

/** Reads `stage=run; code=3` and its like. */
export function parseExit(header: string): Exit {
  const fields = new Map(
    header.split(";").map((field) => {
      const [name = "", value = ""] = field.trim().split("=", 2);
      return [name, value];
    }),
  );
  const exit: Exit = { stage: fields.get("stage") === "compile" ? "compile" : "run" };
  const code = Number.parseInt(fields.get("code") ?? "", 10);
  if (!Number.isNaN(code)) exit.code = code;
  const signal = fields.get("signal");
  if (signal !== undefined) exit.signal = signal;
  const limit = fields.get("limit");
  if (limit !== undefined) exit.limit = limit;
  return exit;
}

/** Reads `queue;dur=0.1, run;dur=12.5`. */
function parseTimings(header: string): Record<string, number> {
  const timings: Record<string, number> = {};
  for (const [, name = "", duration = ""] of header.matchAll(/([\w-]+)\s*;\s*dur=([\d.]+)/g)) {
    timings[name] = Number.parseFloat(duration);
  }
  return timings;
}

function refusal(response: Response, body: Record<string, unknown> | null): Refusal {
  const { status, headers } = response;
  const error = body?.["error"];
  const message = typeof error === "string" ? error : "";
  const retryAfterMs = milliseconds(headers.get("Retry-After"));
  switch (status) {
    case 429:
      return { kind: "limited", retryAfterMs };
    case 503:
      return { kind: "busy", message, retryAfterMs };
    case 413:
      return { kind: "too-large", message };
    default:
      return { kind: "refused", status, message };
  }
}

function lost(): Refusal {
  return { kind: "lost", isOffline: !navigator.onLine };
}

function milliseconds(seconds: string | null): number | null {
  const number = Number.parseInt(seconds ?? "", 10);
  return Number.isNaN(number) ? null : Math.max(0, number) * 1000;
}

/** The object in a JSON text; `null` for anything else. */
function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}
