// One request to the compile endpoint, and what came of it.

import type { Snapshot } from "../workspace";

/** A run that took place. */
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

/** No run took place. */
export type Refusal =
  | { kind: "limited"; message: string; retryAfterMs: number }
  | { kind: "busy"; message: string; retryAfterMs: number | null }
  | { kind: "too-large"; message: string }
  | { kind: "refused"; status: number; message: string }
  | { kind: "lost" }
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
    const body = (await response.json()) as Record<string, unknown>;
    if (!response.ok) return refusal(response, String(body["error"] ?? ""));
    return {
      kind: "ran",
      stdout: String(body["stdout"] ?? ""),
      stderr: String(body["stderr"] ?? ""),
      exit: parseExit(response.headers.get("Sandpiper-Exit") ?? ""),
      timings: parseTimings(response.headers.get("Server-Timing") ?? ""),
      elapsedMs: performance.now() - started,
    };
  } catch {
    return { kind: signal.aborted ? "stopped" : "lost" };
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
export function parseTimings(header: string): Record<string, number> {
  const timings: Record<string, number> = {};
  for (const [, name = "", duration = ""] of header.matchAll(/([\w-]+)\s*;\s*dur=([\d.]+)/g)) {
    timings[name] = Number.parseFloat(duration);
  }
  return timings;
}

function refusal(response: Response, message: string): Refusal {
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  const retryAfterMs = Number.isNaN(seconds) ? null : seconds * 1000;
  switch (response.status) {
    case 429:
      return { kind: "limited", message, retryAfterMs: retryAfterMs ?? 5000 };
    case 503:
      return { kind: "busy", message, retryAfterMs };
    case 413:
      return { kind: "too-large", message };
    default:
      return { kind: "refused", status: response.status, message };
  }
}
