export interface Bird {
  name: string;
  /** In metres. */
  wingspan: number;
}

/** The mean wingspan. */
export function mean(birds: readonly Bird[]): number {
  return birds.reduce((sum, { wingspan }) => sum + wingspan, 0) / birds.length;
}
