/**
 * A failure that is previewed, as by `vigil preview`, and that then happens in the same run: what follows has to be
 * what was previewed, no node or pod more or less.
 */
import type { Random, Stop } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { idleOf } from "../../../services/cli/preview/eviction-times.policy.ts";
import { faultOf } from "../../../services/cli/preview/fault.policy.ts";
import { previewOf } from "../../../services/cli/preview/preview.policy.ts";
import { type Snapshot, takeSnapshot } from "../../../services/cli/preview/snapshot.ts";
import { runSettingsOf } from "../../../services/cli/run/run-tunables.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { readOnlyKube } from "../../../services/platform/kube/shadow/shadow-kube.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { uncounted } from "../../../services/platform/process/metrics.ts";
import type { JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { between } from "../chance.ts";
import { BrokenInvariant, type CheckedPod } from "../invariants.ts";
import type { SimulatedKubelet } from "../kubelet.ts";
import type { Reach } from "../meddler.ts";
import { kubeletsOf, SECOND } from "../plots.stage.ts";
import { POLICIES_STORAGE } from "../policies/api-policies.ts";
import { policyStateOf } from "../policies/policy-state.ts";
import type { World } from "../world.ts";
import { previewedEvents, previewProblem } from "./events.ts";
import { ObservedFailure } from "./observed-failure.ts";
import { type ReasonedCluster, reasonProblem } from "./reasons.ts";
import { openShop } from "./shop.ts";

/**
 * When the failure happens: all owners have settled, also that of limits, which waits for a few pulses, and that of a
 * rate of evictions, which waits for a minute.
 */
const SETTLED_SECONDS = [60, 100] as const;
const SETTLED_POLICIES_SECONDS = [110, 140] as const;
/** In how many runs a node has failed before, and how long before: for half of any grace, or it seems to be alive. */
const UNDER_WAY_SHARE = 0.3;
const EARLIER_SECONDS = [31, 58] as const;
/** The share of runs in which the preview reads from a running process what counts against the rates of evictions. */
const ASKING_SHARE = 0.7;

interface NamedPolicy {
  readonly metadata: { readonly name: string };
  readonly spec: JsonObject;
}

/** A preview, and what has happened since. */
interface Expected {
  readonly preview: ReturnType<typeof previewOf>;
  readonly observed: ObservedFailure;
  /** The first reason that was not true; null for none. */
  readonly wrongReason: string | null;
}

/**
 * Causes the failure when the cluster has settled. The returned function compares it with the preview, then ends it.
 */
export function failAsPreviewed(reach: Reach, random: Random): Stop {
  const { world, count } = reach;
  const { clock } = world;
  const isPlain = world.swarm.policies === undefined;
  const [least, most] = isPlain ? SETTLED_SECONDS : SETTLED_POLICIES_SECONDS;
  const failingSeconds = between(random, least, most);
  const earlier = random() < UNDER_WAY_SHARE ? world.anyKubelet(random) : null;
  const earlierSeconds = failingSeconds - between(random, ...EARLIER_SECONDS);
  if (earlier !== null) clock.after(earlierSeconds * SECOND, () => earlier.stop());
  const failing = failingOf(reach, random);
  if (!isPlain) openShop(world, random);
  const isAsking = random() < ASKING_SHARE;
  let expected: Expected | null = null;
  clock.after(failingSeconds * SECOND, () =>
    world.asWorld(() =>
      snapshotOf(world, (snapshot) => {
        const preview = previewOfFailure(world, snapshot, failing, isAsking ? idleIn(reach) : new Set());
        const wrongReason = reasonProblem(preview, shown(world));
        expected = { preview, observed: new ObservedFailure(world), wrongReason };
        for (const kubelet of failing) kubelet.stop();
        count("failure previewed");
        if (preview.pods.some(({ earliestAfterMs }) => earliestAfterMs !== undefined)) count("earliest time previewed");
      }),
    ),
  );
  return () => {
    expectToHold(world, expected);
    for (const kubelet of world.kubelets.values()) world.asWorld(() => kubelet.start());
  };
}

/** A complete zone, or some of its nodes. */
function failingOf(reach: Reach, random: Random): readonly SimulatedKubelet[] {
  const kubelets = kubeletsOf(reach, 1);
  return kubelets.slice(0, random() < 0.3 ? kubelets.length : between(random, 1, kubelets.length));
}

/** The cluster as a preview reads it. */
function snapshotOf(world: World, done: (snapshot: Snapshot) => void): void {
  const { clock, api, swarm } = world;
  const io = { clock, wire: api.wire, random: () => 0, log: silentLog, metrics: uncounted };
  const kube = readOnlyKube(createKube({ ...io, profile: STANDARD_PROFILE }), (run) => clock.soon(run));
  takeSnapshot({ kube, clock, configured: [], profile: swarm.profile }, done);
}

/** The policies without an eviction that counts, as a running process reports. */
function idleIn({ processes }: Reach): ReadonlySet<string> {
  return idleOf(processes.flatMap(({ ledger }) => ledger?.policies() ?? []));
}

/** The preview with the flags of the run, as it reads them from a running process. */
function previewOfFailure(
  world: World,
  snapshot: Snapshot,
  failing: readonly SimulatedKubelet[],
  idle: ReadonlySet<string>,
) {
  const flags = { zone: "", node: failing.map(({ name }) => name), down: true, taint: "" };
  const profile = { ...STANDARD_PROFILE, ...runSettingsOf(world.swarm.profile) };
  return previewOf(snapshot, faultOf(flags)(snapshot.nodes), profile, idle);
}

/** What the API shows now. */
function shown(world: World): ReasonedCluster {
  const pods = world.objects<CheckedPod>("pods").map((pod) => [pod.metadata.name, pod] as const);
  const isComparing = world.swarm.profile.tolerationComparisonOperators;
  if (world.swarm.policies === undefined) return { pods: new Map(pods), policies: new Map(), isComparing };
  const policies = world.objects<NamedPolicy>(POLICIES_STORAGE).flatMap(({ metadata, spec }) => {
    const state = policyStateOf(spec, []);
    return state === null ? [] : [[metadata.name, state] as const];
  });
  return { pods: new Map(pods), policies: new Map(policies), isComparing };
}

function expectToHold({ swarm }: World, expected: Expected | null): void {
  if (expected === null) throw new BrokenInvariant("the cluster could not be read for a preview");
  const { preview, observed, wrongReason } = expected;
  observed.stop();
  const previewed = previewedEvents(preview, swarm.profile.evictionMode === "direct");
  const problem = wrongReason ?? previewProblem(previewed, observed.events, observed.spanMs);
  if (problem !== null) throw new BrokenInvariant(`preview of "${preview.fault}": ${problem}`);
}
