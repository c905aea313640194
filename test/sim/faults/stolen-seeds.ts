/**
 * An attacker with the NATS seed of one service publishes, within the permissions of its role, requests that no service
 * of Vigil makes or that the API contradicts. The writers refuse them, so every check of the writes stays on.
 */
import { INSTANT_MAX } from "../../../protocols/bounds.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { Bus, Random, Stop, Timer } from "../../../protocols/ports.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { uncounted } from "../../../services/platform/process/metrics.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { ATTACKER } from "../attacker.ts";
import { oneOf } from "../chance.ts";
import { type CheckedNode, type CheckedPod, type CheckedTaint, conditionOf } from "../invariants.ts";
import { lasting, type Meddler, type Reach } from "../meddler.ts";
import { secondsFor } from "../tolerated-seconds.ts";

const ASKED_EVERY_MS = 1000;
/** No deadline further away than this comes while a request is under way. */
const FAR_MS = 60_000;

/** A taint that no rule of a policy requires, and one under a key of Kubernetes that is not Vigil's. */
const EVIL = { key: "example.com/evil", effect: "NoSchedule" };
const UPSTREAM_EVIL = { key: "node.kubernetes.io/evil", effect: "NoSchedule" };
const UNREACHABLE = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };

type Seed = "node" | "zone" | "taint-manager";
interface StoredNode extends CheckedNode {
  readonly metadata: CheckedNode["metadata"] & { readonly resourceVersion: string };
}

interface StoredLease {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly renewTime?: string };
}

/** What an attacker can use at one moment. */
interface Loot {
  /** A bus with the stolen seed. */
  readonly bus: Bus;
  readonly reach: Reach;
  readonly random: Random;
  readonly node: StoredNode;
}

/** A request that must be refused, and the roles that may publish it. */
interface Forgery {
  readonly seeds: readonly Seed[];
  /** Publishes one and returns its id; null where the cluster has no object to name. */
  readonly ask: (loot: Loot) => string | null;
}

const FORGERIES: Readonly<Record<string, Forgery>> = {
  "foreign taint": {
    seeds: ["node", "zone"],
    ask: (loot) => askTaint(loot, loot.node.metadata.name.endsWith("1") ? UPSTREAM_EVIL : EVIL, "conditions"),
  },
  "taint on a ready node": {
    seeds: ["node", "zone"],
    ask: (loot) => (statusOf(loot.node) === "True" ? askTaint(loot, UNREACHABLE, "granted") : null),
  },
  "foreign label": {
    seeds: ["node", "taint-manager"],
    ask: (loot) => askLabel(loot, { labels: { "node-restriction.kubernetes.io/tier": "secret" } }),
  },
  "record of a taint that does not stand": {
    seeds: ["node", "taint-manager"],
    ask: (loot) => {
      const record = JSON.stringify({ "example.com/evil:NoExecute": "2026-01-01T00:00:00Z" });
      return askLabel(loot, { annotations: { "vigil.v1/taints-seen": record } });
    },
  },
  "foreign condition": {
    seeds: ["node"],
    ask: ({ bus, reach, node }) => {
      const forged = { status: "True" as const, reason: "Forged", message: "Forged.", heartbeatAt: null };
      const conditions = [{ type: "example.com/Evil", ...forged }];
      return bus.publish("asked.condition", { ...named(node), basis: basisOf(reach, node), conditions }, null);
    },
  },
  "eviction before its deadline": {
    seeds: ["node", "taint-manager"],
    ask: (loot) => askEviction(loot, "taint"),
  },
  "eviction of the other mode": {
    seeds: ["node", "taint-manager"],
    ask: (loot) => askEviction(loot, loot.reach.world.swarm.profile.evictionMode === "taint" ? "direct" : "taint"),
  },
};

/** The situations that the class brings about. */
export const STOLEN_SEED_SITUATIONS: readonly string[] = Object.keys(FORGERIES).map(refused);

/** The classes, by name. */
export const STOLEN_SEED_FAULTS = {
  stolenSeeds: {
    everySeconds: 30,
    act: (reach, random) => lasting(reach, random, 60, steal(reach, random)),
  },
} satisfies Record<string, Meddler>;

/** Publishes a forged request every now and then with one seed, and counts the refused ones. */
function steal(reach: Reach, random: Random): Stop {
  const { clock, swarm } = reach.world;
  const seed = oneOf<Seed>(random, ["node", "zone", "taint-manager"]);
  const transport = reach.network.link({ name: ATTACKER, member: ATTACKER, read: (take) => take() });
  const { mailboxMessagesMax } = swarm.profile;
  const own = { service: seed, member: ATTACKER, log: recordingLog(), metrics: uncounted };
  const bus = typedBus({ transport, clock, cluster: "sim", mailboxMessagesMax, ...own });
  const forged = new Map<string, string>();
  bus.subscribe("done.write", "all", ({ cause, body }) => {
    const what = forged.get(cause ?? "");
    if (what !== undefined && body.outcome === "refused") reach.count(refused(what));
  });
  const choices = Object.entries(FORGERIES).filter(([, { seeds }]) => seeds.includes(seed));
  let timer: Timer;
  const round = (): void => {
    timer = clock.after(ASKED_EVERY_MS, round);
    const nodes = reach.world.objects<StoredNode>("nodes");
    if (nodes.length === 0) return;
    const [what, { ask }] = oneOf(random, choices);
    const id = ask({ bus, reach, random, node: oneOf(random, nodes) });
    if (id !== null) forged.set(id, what);
  };
  round();
  return () => {
    timer.cancel();
    transport.close();
  };
}

function askTaint({ bus, node }: Loot, taint: CheckedTaint, why: BodyOf<"asked.taint">["why"]): string | null {
  const taints = [...(node.spec?.taints ?? [])];
  const change = { taints, add: [taint], remove: [], ready: statusOf(node) };
  return bus.publish("asked.taint", { ...named(node), ...change, why }, null);
}

function askLabel({ bus, node }: Loot, fields: Partial<BodyOf<"asked.label">>): string | null {
  return bus.publish("asked.label", { ...named(node), labels: {}, ...fields }, null);
}

/** Requests the eviction of a pod of the node; in the cluster's own mode, that of a pod that must stay for a while. */
function askEviction({ bus, reach, random, node }: Loot, mode: "taint" | "direct"): string | null {
  const { world } = reach;
  const byMs = world.clock.wallMs() + FAR_MS;
  const { evictionMode, tolerationComparisonOperators: isComparing } = world.swarm.profile;
  const pods = world
    .objects<CheckedPod>("pods")
    .filter(({ spec }) => spec.nodeName === node.metadata.name)
    .filter((pod) => mode !== evictionMode || staysUntil(pod, node, { byMs, isComparing }));
  if (pods.length === 0) return null;
  const { namespace, name, uid } = oneOf(random, pods).metadata;
  const pod = { namespace, name, uid, node: node.metadata.name };
  return bus.publish("asked.eviction", { ...pod, mode, deadlineAt: INSTANT_MAX, taint: UNREACHABLE }, null);
}

/** Whether every NoExecute taint of a pod's node lets it stay until an instant. */
function staysUntil(
  pod: CheckedPod,
  node: CheckedNode,
  { byMs, isComparing }: { readonly byMs: number; readonly isComparing: boolean },
): boolean {
  return (node.spec?.taints ?? [])
    .filter(({ effect }) => effect === "NoExecute")
    .every((taint) => Date.parse(taint.timeAdded ?? "") + (secondsFor(pod, taint, isComparing) ?? 0) * 1000 > byMs);
}

function named({ metadata: { name, uid, resourceVersion } }: StoredNode) {
  return { node: name, uid, resourceVersion };
}

/** The heartbeats of a node as the API shows them. None of them refutes the request. */
function basisOf({ world }: Reach, node: CheckedNode): BodyOf<"asked.condition">["basis"] {
  const lease = world.objects<StoredLease>("leases").find(({ metadata }) => metadata.name === node.metadata.name);
  return {
    leaseRenewedAt: instantOf(lease?.spec.renewTime),
    statusHeartbeatAt: instantOf(conditionOf(node, "Ready")?.lastHeartbeatTime),
  };
}

function instantOf(text: string | null | undefined): number | null {
  const at = Date.parse(text ?? "");
  return at >= 0 && at <= INSTANT_MAX ? at : null;
}

function statusOf(node: CheckedNode): BodyOf<"asked.taint">["ready"] {
  const status = conditionOf(node, "Ready")?.status;
  return status === "True" || status === "False" || status === "Unknown" ? status : null;
}

function refused(what: string): string {
  return `forged ask refused: ${what}`;
}
