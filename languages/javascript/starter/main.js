import { mean, table } from "./birds.js";

const birds = [
  { name: "gull", wingspan: 1.3 },
  { name: "tern", wingspan: 0.8 },
  { name: "albatross", wingspan: 3.2 },
];

birds.sort((a, b) => a.wingspan - b.wingspan);
console.log(table(birds));
console.log(`mean      ${mean(birds.map(({ wingspan }) => wingspan)).toFixed(2)} m`);
