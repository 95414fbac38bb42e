import { mean, type Bird } from "./birds.ts";

const birds: Bird[] = [
  { name: "gull", wingspan: 1.3 },
  { name: "tern", wingspan: 0.8 },
  { name: "albatross", wingspan: 3.2 },
];

function line({ name, wingspan }: Bird): string {
  return `${name.padEnd(9)} ${wingspan.toFixed(2)} m`;
}

birds.sort((a, b) => a.wingspan - b.wingspan);
for (const bird of birds) console.log(line(bird));
console.log(line({ name: "mean", wingspan: mean(birds) }));
