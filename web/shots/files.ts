// Where the pictures go, and what they are called.

import type { Size } from "./scenes";

export const themes = ["light", "dark"] as const;
export type Theme = (typeof themes)[number];

/** Where all of them go. */
export function folder(): string {
  const path = process.env["SANDPIPER_SHOTS"];
  if (path === undefined) throw new Error("SANDPIPER_SHOTS must name a folder: make screenshots");
  return path;
}

export function nameOf(scene: string, { width, height }: Size, theme: Theme): string {
  return `${scene}-${width}x${height}-${theme}.png`;
}
