/**
 * `npm run journey`: the files that run in the virtual millisecond of a verdict, and in that of a DELETE, in one
 * process without policies.
 *
 *   a node falls silent ── 50 s ──▶ verdict: conditions and taint ── 300 s ──▶ DELETE of its pod
 *                                   (first journey)                            (second journey)
 *
 * A reader who follows a journey has to open these files, so each one fewer makes Vigil easier to read.
 */
import { type Profiler, Session } from "node:inspector/promises";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import { EvictionWorld } from "../support/eviction-world.ts";

const SECOND_MS = 1000;
const ROOT = pathToFileURL(`${import.meta.dirname}/../../`).pathname;
/** What ships without the embedded API, which stands for a cluster here. */
const SHIPPED = /^(protocols|services(?!\/sandbox))\//;

/** Runs one millisecond of a world, and names the files of which some function ran. */
async function filesOfMillisecond(session: Session, world: EvictionWorld): Promise<string[]> {
  await session.post("Profiler.takePreciseCoverage");
  world.advance(1);
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const ran = ({ functions }: Profiler.ScriptCoverage): boolean =>
    functions.some(({ ranges: [whole] }) => (whole?.count ?? 0) > 0);
  const paths = result.filter(ran).map(({ url }) => relative(ROOT, url.replace(/^file:\/\//, "")));
  return paths.filter((path) => SHIPPED.test(path)).sort();
}

function print(journey: string, files: readonly string[]): void {
  process.stdout.write(`${journey}: ${files.length} files\n${files.map((file) => `  ${file}\n`).join("")}\n`);
}

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
const world = new EvictionWorld();
world.run();
// Not with a pulse, which comes at a whole five seconds and is a journey of its own.
world.advance(2 * SECOND_MS);
world.addZone("a", 5);
world.addTolerantPod("a-0", "pod");
world.advance(30 * SECOND_MS);
world.silence(["a-0"]);
// The last heartbeat is now, and silence is found at the first instant after 50 s more.
world.advance(50 * SECOND_MS);
const verdict = await filesOfMillisecond(session, world);
if (world.taintedAt("a-0") !== world.clock.monotonicMs()) throw new Error("the verdict was not in this millisecond");
world.advance(world.timeAddedMs("a-0") + 300 * SECOND_MS - 1 - world.clock.monotonicMs());
const deletion = await filesOfMillisecond(session, world);
if (world.deletedAt("pod") !== world.clock.monotonicMs()) throw new Error("the DELETE was not in this millisecond");
session.disconnect();
print("verdict", verdict);
print("DELETE", deletion);
