/** `npm run fuzz`: fuzzes for the given time, and prints the number of cases and the memory in use. */
import { parseArgs } from "node:util";
import { fuzzRound } from "./fuzz.ts";

const CASES_PER_ROUND = 400;
const REPORT_MS = 30_000;
const BYTES_PER_MIB = 1024 * 1024;

const { values } = parseArgs({ options: { minutes: { type: "string" }, from: { type: "string" } } });
const [minutes, from] = [Number(values.minutes ?? "1"), Number(values.from ?? "1")];
if (!(minutes > 0 && Number.isSafeInteger(from))) {
  console.error(
    "--minutes has to be a number above 0, and --from a whole number: npm run fuzz -- --minutes=10 --from=1",
  );
  process.exit(2);
}
const endMs = performance.now() + minutes * 60_000;
let reportMs = performance.now();
let [messages, admitted, objects] = [0, 0, 0];
for (let seed = from; performance.now() < endMs; seed++) {
  const round = fuzzRound(seed, CASES_PER_ROUND);
  messages += round.messages;
  admitted += round.admitted;
  objects += round.objects;
  if (performance.now() < reportMs) continue;
  report(seed);
  reportMs = performance.now() + REPORT_MS;
}
report("last");

function report(seed: number | string): void {
  global.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  const [heapMib, rssMib] = [heapUsed, rss].map((bytes) => Math.round(bytes / BYTES_PER_MIB));
  const thrown = `${messages} messages, ${admitted} admitted, ${objects} API objects`;
  console.log(`seed ${seed}: ${thrown}; heap ${heapMib} MiB, rss ${rssMib} MiB`);
}
