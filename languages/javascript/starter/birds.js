/** The mean of some numbers. */
export function mean(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

/** A line for each bird. */
export function table(birds) {
  return birds
    .map(({ name, wingspan }) => `${name.padEnd(9)} ${wingspan.toFixed(2)} m`)
    .join("\n");
}
