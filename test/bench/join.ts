/** Measures how late verdicts are while many new nodes join and lose their startup taints, against a quiet cluster. */
import { openTaintingWorld, type World } from "./bench-world.ts";
import { startVigil } from "./controllers.ts";
import { firstNodes } from "./load.ts";
import { type BenchReport, type Measurement, measurement, quantiles } from "./measurements.ts";
import type { BenchOptions } from "./options.ts";
import { pause } from "./pause.ts";
import { changesOf } from "./raw-api.ts";
import { fallSilent, type SilenceFound } from "./silence.ts";

const NODES = 300;
const JOINING = [5_000];
const SILENT = 50;
/** Longer than the interval between two renewals, so only silent nodes are found. */
const GRACE_MS = 15_000;
/** Time beyond the grace before the first silence: a controller that has just started counts silence from its start. */
const SETTLE_MS = 15_000;
const NOT_READY = "node.kubernetes.io/not-ready";

/** For each number of joining nodes: the lateness of verdicts before and meanwhile, and how long the taints stay. */
export async function join({ nodes = JOINING, graceMs = GRACE_MS }: BenchOptions): Promise<BenchReport> {
  const measurements: Measurement[] = [];
  for (const joining of nodes) {
    const world = await openTaintingWorld({ nodes: NODES, podsPerNode: 0 });
    try {
      measurements.push(...(await joinIn(world, joining, graceMs)));
    } finally {
      await world.close();
    }
  }
  const load = `${SILENT} of ${NODES} nodes fall silent, grace ${graceMs / 1000} s, while new nodes join`;
  return { bench: "join", load, warmUp: `${(graceMs + SETTLE_MS) / 1000} s`, measurements };
}

async function joinIn(world: World, joining: number, graceMs: number): Promise<Measurement[]> {
  const vigil = await startVigil(world, { "node-monitor-grace-period": `${graceMs / 1000}s` });
  try {
    await pause(graceMs + SETTLE_MS);
    const silence = { selector: firstNodes(SILENT), graceMs };
    const quiet = await fallSilent(world, silence);
    const taints = new StartupTaints();
    const stop = await changesOf(world.wire, "/api/v1/nodes", ({ metadata, spec }, atMs) =>
      taints.onNode(metadata.name, spec.taints?.some(({ key }) => key === NOT_READY) === true, atMs),
    );
    const [busy] = await Promise.all([fallSilent(world, silence), world.join(joining)]);
    await pause(graceMs);
    stop();
    return measurementsOf(`${joining} nodes join`, quiet, busy, taints);
  } finally {
    await vigil.stop();
  }
}

/** How long each node was seen with its startup taint. */
class StartupTaints {
  readonly #since = new Map<string, number>();
  readonly stoodMs: number[] = [];

  onNode(node: string, isTainted: boolean, atMs: number): void {
    const since = this.#since.get(node);
    if (isTainted && since === undefined) this.#since.set(node, atMs);
    if (isTainted || since === undefined) return;
    this.stoodMs.push(atMs - since);
    this.#since.delete(node);
  }

  get standing(): number {
    return this.#since.size;
  }
}

function measurementsOf(what: string, quiet: SilenceFound, busy: SilenceFound, taints: StartupTaints): Measurement[] {
  const inSeconds = (values: readonly number[]) => [values.map((ms) => ms / 1000)];
  return [
    ...quantiles("before: verdict late", "s", inSeconds(quiet.verdicts)),
    ...quantiles(`${what}: verdict late`, "s", inSeconds(busy.verdicts)),
    ...quantiles(`${what}: from the startup taint to its removal`, "s", inSeconds(taints.stoodMs)),
    measurement(`${what}: startup taints taken off`, "", [taints.stoodMs.length]),
    measurement(`${what}: startup taints left`, "", [taints.standing]),
  ];
}
