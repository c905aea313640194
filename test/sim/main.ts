/** `npm run sim`: runs seeds and tells what came of them. It decides nothing about a run. */
import { simulate } from "./simulate.ts";

const from = Number(process.argv[2] ?? 1);
const count = Number(process.argv[3] ?? 5);
for (let seed = from; seed < from + count; seed++) {
  const started = performance.now();
  const verdict = simulate(seed);
  console.log(
    seed,
    `${Math.round(performance.now() - started)} ms`,
    `${verdict.virtualMs / 1000} s`,
    verdict.problem ?? "clean",
    JSON.stringify(verdict.sometimes),
  );
}
