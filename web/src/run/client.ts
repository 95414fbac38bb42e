// One request that runs the program, and its answer.

import type { Snapshot } from "../workspace";
import type { Left } from "./left";
import type { QueryResult } from "./query-results";

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
  /** The files that it left, if they were asked for. */
  left?: Left;
  /** The results of its statements, if they were asked for and the language has such. */
  results?: readonly QueryResult[];
  /** The messages of a compiler that succeeded, if they were asked for. */
  warnings?: string;
  /** The line of the submitted files where it crashed, if the server knows it. */
  crash?: CrashPlace;
}

export interface CrashPlace {
  path: string;
  /** From 1. */
  line: number;
}

export interface Exit {
  stage: "compile" | "run";
  code?: number;
  signal?: string;
  limit?: string;
  /** Whether a person stopped it. */
  isStopped?: boolean;
}

/** The program was not run. */
export type Refusal =
  | { kind: "limited"; retryAfterMs: number | null }
  /** `isLive`: all live runs, or the client's half, are taken; other runs may be free. */
  | { kind: "busy"; message: string; retryAfterMs: number | null; isLive?: boolean }
  | { kind: "too-large"; message: string }
  /** Without a message the answer is not the service's, but a proxy's, or that of a network that wants a login. */
  | { kind: "refused"; status: number; message: string }
  | { kind: "lost"; isOffline: boolean }
  | { kind: "stopped" };

export type Answer = RunResult | Refusal;

/** A program to run by `/api/compile`. */
export interface CompileRequest {
  language: string;
  snapshot: Snapshot;
  /** Names the run, so that it can be stopped and still answered. */
  id: string;
}

/** A program to run by `/api/run`. */
export interface RunRequest extends CompileRequest {
  /** Whether the files that it leaves are asked for. */
  artifacts: boolean;
  /** Whether the results of its statements are asked for. */
  results: boolean;
  /** Whether the warnings of a compiler that succeeded are asked for. */
  warnings: boolean;
  /** Whether the document may come without its framework, which is then loaded (./framework.ts). */
  external: boolean;
}

/** Sends the files to `/api/compile`. Aborting closes the connection, and the server ends the run. */
export async function run({ language, snapshot, id }: CompileRequest, signal: AbortSignal): Promise<Answer> {
  const started = performance.now();
  try {
    const response = await fetch("api/compile", {
      method: "POST",
      headers: { "Content-Type": "application/json", "Sandpiper-Run": id },
      body: JSON.stringify({ language, ...programOf(snapshot) }),
      signal,
    });
    const body = parsed(await response.text());
    if (!response.ok) return refusal(response, body);
    if (typeof body?.["stdout"] !== "string" || typeof body["stderr"] !== "string") return unreadable(response);
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

/** The program alone, as the server takes it. */
export function programOf({ entryFile, files, stdin }: Snapshot): Snapshot {
  return { entryFile, files: files.map(({ path, content }) => ({ path, content })), stdin };
}

/** Asks the server to stop a run and to answer it. Returns whether it does. */
export async function stop(id: string): Promise<boolean> {
  try {
    return (await fetch(`api/run/${id}/stop`, { method: "POST" })).ok;
  } catch {
    return false;
  }
}

/** A name for a run that nobody else can guess: 32 hexadecimal digits. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
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
  if (fields.get("stopped") === "true") exit.isStopped = true;
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

/** The refusal in an answer without 200. */
export function refusal(response: Response, body: Record<string, unknown> | null): Refusal {
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

/** An answer that is the service's, but cut off, or a page of a server in between. */
export function unreadable(response: Response): Refusal {
  const isJson = response.headers.get("Content-Type")?.startsWith("application/json") === true;
  return isJson ? lost() : { kind: "refused", status: response.status, message: "" };
}

export function lost(): Refusal {
  return { kind: "lost", isOffline: !navigator.onLine };
}

function milliseconds(seconds: string | null): number | null {
  const number = Number.parseInt(seconds ?? "", 10);
  return Number.isNaN(number) ? null : Math.max(0, number) * 1000;
}

/** The object in a JSON text; `null` for anything else. */
export function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}
