/**
 * `node test/sim/mutations.ts [name] [--seeds N]`: plants known bugs, one at a time, in a copy of the tree and shows
 * how many seeds it takes to catch each.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

/** A bug and how it is planted: one text of a file, found there once, in the place of another. */
interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SEEDS_MAX = "500";

const MUTATIONS: readonly Mutation[] = [
  {
    name: "skipped re-read",
    file: "services/node-writer/node-asks.ts",
    from: "!refutesSilence(ask.basis, lease.renewedAt)",
    to: "lease !== null",
  },
  {
    name: "ignored pulse",
    file: "services/runtime/shard-sight.ts",
    from: 'if (nowMs - this.#heardAt >= this.#profile.pulseTimeoutMs) return "no pulse from the observer";',
    to: "",
  },
  {
    name: "bucket reset on restart",
    file: "services/zone/zone.actor.ts",
    from: "this.#bucket = paidAt === null ? bucket : paid(bucket, paidAt, now);",
    to: "this.#bucket = bucket;",
  },
  {
    name: "deadline from now",
    file: "services/taint-manager/tainted-node.ts",
    from: "this.#taints = knownTaints(node, this.#taints, now);",
    to: "this.#taints = knownTaints(node, this.#taints, now).map((k) => ({ ...k, since: now.monotonicMs }));",
  },
  {
    name: "name instead of UID",
    file: "services/pod-writer/pod-asks.ts",
    from: 'verb: "delete" as const, uid: body.uid }',
    to: 'verb: "delete" as const }',
  },
  {
    name: "float64 threshold",
    file: "services/zone/zone.policy.ts",
    from: "const share = Math.fround(Math.fround(notReady) / Math.fround(size));",
    to: "const share = notReady / size;",
  },
  {
    name: "swap in two patches",
    file: "services/node-writer/node-writer.policy.ts",
    from: "const taints: Taint[] = [...kept,",
    to: "const taints: Taint[] = [...(added.length > 0 ? before : kept),",
  },
  {
    name: "lost resync",
    file: "services/runtime/shard-feed.ts",
    from: "if (reason !== null) bus.publish",
    to: 'if (reason === "") bus.publish',
  },
  {
    name: "cancelled timer that still fires",
    file: "services/taint-manager/tainted-node.ts",
    from: "    this.#around.deadlines.remove(sentence.slot);\n    this.#sentences.delete(uid);\n",
    to: "",
  },
  {
    name: "halted zone that still grants",
    file: "services/zone/zone.actor.ts",
    from: "const perSecond = isHalted ? 0 : taintsPerSecondOf(damage, zone.count.size, profile);",
    to:
      "const perSecond = taintsPerSecondOf(damage, zone.count.size, profile);\n" +
      '    if (outlook === "disrupted") this.#options.io.clock.soon(() => this.#grant(clock.monotonicMs()));',
  },
  {
    name: "conflict treated as success",
    file: "services/runtime/write-result.ts",
    from: "export function written(reply: WriteReply, change: string): TryResult {\n",
    to:
      "export function written(reply: WriteReply, change: string): TryResult {\n" +
      '  if (reply.outcome === "conflict") return { outcome: "ok", change, detail: "", resourceVersion: null };\n',
  },
  {
    name: "wrong shard owner",
    file: "services/runtime/fleet.ts",
    from: "const lost = [...owned].filter((shard) => owners[shard] !== this.member);",
    to: "const lost: number[] = [];",
  },
];

const { values, positionals } = parseArgs({
  options: { seeds: { type: "string", default: SEEDS_MAX } },
  allowPositionals: true,
});
const [wanted] = positionals;
const chosen = MUTATIONS.filter(({ name }) => wanted === undefined || name === wanted);
if (chosen.length === 0) {
  console.error(`no mutation ${JSON.stringify(wanted)}; there are: ${MUTATIONS.map(({ name }) => name).join(", ")}`);
  process.exitCode = 2;
}
for (const mutation of chosen) console.log(await tried(mutation, Number(values.seeds)));

/** Plants a bug, runs seeds until one fails, and tells what came of it in one line of the table. */
async function tried(mutation: Mutation, seeds: number): Promise<string> {
  const copy = copied();
  try {
    plant(mutation, copy);
    const crew: typeof import("./crew.ts") = await import(pathToFileURL(join(copy, "test/sim/crew.ts")).href);
    const { runs, failures } = await crew.runSeeds({
      from: 1,
      count: seeds,
      forMs: Number.POSITIVE_INFINITY,
      untilFailure: true,
    });
    const caught = failures[0];
    if (caught === undefined) process.exitCode = 1;
    const came = caught === undefined ? `NOT CAUGHT in ${runs}` : `seed ${caught.seed}, after ${runs}`;
    return `${mutation.name} | ${mutation.file} | ${came} | ${caught?.problem?.split("\n")[0] ?? ""}`;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** A copy of the tree as it stands, on the same packages. */
function copied(): string {
  const copy = mkdtempSync(join(tmpdir(), "vigil-mutation-"));
  for (const folder of ["protocols", "services", "test/sim", "test/support"]) {
    cpSync(join(ROOT, folder), join(copy, folder), { recursive: true });
  }
  cpSync(join(ROOT, "package.json"), join(copy, "package.json"));
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  return copy;
}

function plant({ name, file, from, to }: Mutation, copy: string): void {
  const path = join(copy, file);
  const text = readFileSync(path, "utf8");
  const found = text.split(from).length - 1;
  if (found !== 1) throw new Error(`${name}: its text stands ${found} times in ${file}, not once; bring it up to date`);
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
}
