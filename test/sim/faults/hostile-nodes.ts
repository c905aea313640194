/**
 * Kubelets that write whatever NodeRestriction allows: annotations, labels and conditions of their own node, and their
 * own lease, without limits or sense. Every check of a run also covers their nodes.
 */
import { LEASE_NAMESPACE } from "../../../protocols/names.ts";
import type { Random } from "../../../protocols/ports.ts";
import { apiMicroTime } from "../../../services/domain/api-time.ts";
import { childObject, type JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { storedAs } from "../../../services/sandbox/apiserver/resources.ts";
import { between, oneOf } from "../chance.ts";
import type { SimulatedKubelet } from "../kubelet.ts";
import type { Meddler, Reach } from "../meddler.ts";

/** More than any message has room for. */
const LONG = "x".repeat(70_000);
/** Instants at and near the ends of what RFC 3339 can write, and one that does not fit into an int32 of seconds. */
const ABSURD_AT = [-62_135_596_800_000, 0, 4_294_967_296_000, 253_402_300_000_000];
const ABSURD_TIMES = ABSURD_AT.map(apiMicroTime);
const MANY = Array.from({ length: 800 }, (_, index) => `example.com/key-${index}`);

/** Values for the annotations that Vigil keeps on nodes. None of them can be true. */
const RECORDS: Readonly<Record<string, readonly string[]>> = {
  "vigil.v1/taints-seen": [
    LONG,
    JSON.stringify(Object.fromEntries(MANY.map((key) => [`${key}:NoExecute`, ABSURD_TIMES[0]]))),
    JSON.stringify({ "node.kubernetes.io/unreachable:NoExecute": ABSURD_TIMES.at(-1) }),
    JSON.stringify({ "node.kubernetes.io/unreachable:NoExecute": 1e300, ["__proto__"]: LONG }),
    "[null]",
  ],
  "vigil.v1/taint-swap": [
    LONG,
    JSON.stringify({
      timeAdded: ABSURD_TIMES.at(-1),
      first: { key: "node.kubernetes.io/unreachable", since: ABSURD_TIMES[0] },
      second: { since: ABSURD_TIMES[0] },
    }),
    '{"timeAdded":{}}',
  ],
};

/** What a hostile kubelet writes, by situation. */
const WRITINGS: Readonly<Record<string, (reach: Reach, kubelet: SimulatedKubelet, random: Random) => void>> = {
  "absurd annotation": writeAnnotation,
  "absurd conditions": writeConditions,
  "absurd heartbeat": writeHeartbeat,
  "absurd lease": writeLease,
  "absurd labels": writeLabels,
};

/** The situations that a run counts. */
export const HOSTILE_SITUATIONS: readonly string[] = Object.keys(WRITINGS);

/** The classes, by name. */
export const HOSTILE_NODE_FAULTS = {
  hostileNodes: {
    everySeconds: 12,
    act: (reach, random) => {
      const hostile = [...reach.world.kubelets.values()].filter(({ name }) => name.endsWith("-n1"));
      if (hostile.length === 0) return undefined;
      const [kubelet, [situation, write]] = [oneOf(random, hostile), oneOf(random, Object.entries(WRITINGS))];
      const isHeard = reach.world.access.accepts(situation === "absurd lease" ? "lease" : "status");
      if (!kubelet.alive || !kubelet.registered || !isHeard) return undefined;
      reach.count(situation);
      reach.world.asWorld(() => write(reach, kubelet, random));
      return undefined;
    },
  },
} satisfies Record<string, Meddler>;

function writeAnnotation({ world }: Reach, { name }: SimulatedKubelet, random: Random): void {
  const [key, values] = oneOf(random, Object.entries(RECORDS));
  const written = { [key]: oneOf(random, values) };
  world.edit("nodes", name, (node) => {
    const annotations = { ...childObject(node.metadata as JsonObject, "annotations"), ...written };
    return { ...node, metadata: { ...node.metadata, annotations } };
  });
}

/** Meaningless conditions beside those that the kubelet keeps; it posts them repeatedly. */
function writeConditions({ world }: Reach, kubelet: SimulatedKubelet, random: Random): void {
  const added = oneOf<readonly JsonObject[]>(random, [
    [{ type: LONG, status: "True" }],
    [{ type: "example.com/Broken", status: "True", reason: LONG, message: LONG }],
    MANY.map((type) => ({ type, status: "True", reason: "R".repeat(100) })),
    [
      { type: "NetworkUnavailable", status: "Perhaps" },
      { type: "__proto__", status: "True" },
      { type: "", status: "" },
    ],
  ]);
  kubelet.absurdConditions = added;
  world.editStatus(kubelet.name, (conditions) => [...conditions, ...added]);
}

/** A status heartbeat at an absurd instant. */
function writeHeartbeat({ world }: Reach, { name, ready }: SimulatedKubelet, random: Random): void {
  const at = oneOf(random, ABSURD_AT) + between(random, 0, 999) * 1000;
  const times = { lastHeartbeatTime: apiMicroTime(at), lastTransitionTime: oneOf(random, ABSURD_TIMES) };
  if (ready === null) return;
  world.editStatus(name, (conditions) =>
    conditions.map((condition) => (condition.type === "Ready" ? { ...condition, status: ready, ...times } : condition)),
  );
  world.signs.note(name, "status", world.clock.wallMs());
}

/** A lease renewed at an absurd instant, by another holder, or with no or an endless duration. */
function writeLease({ world }: Reach, { name }: SimulatedKubelet, random: Random): void {
  const place = { resource: storedAs("leases"), namespace: LEASE_NAMESPACE, name };
  if (world.api.store.collection("leases").get(LEASE_NAMESPACE, name) === undefined) return;
  const renewTime = apiMicroTime(oneOf(random, ABSURD_AT) + between(random, 0, 999_999));
  const holderIdentity = oneOf(random, [name, LONG]);
  const leaseDurationSeconds = oneOf(random, [1, 2 ** 31 - 1]);
  world.api.registry.update(place, "main", (lease) => ({
    ...lease,
    spec: { holderIdentity, leaseDurationSeconds, renewTime, leaseTransitions: 2 ** 31 - 1 },
  }));
  world.signs.note(name, "lease", world.clock.wallMs());
}

/** Hundreds of labels, and a zone of its own. */
function writeLabels({ world }: Reach, kubelet: SimulatedKubelet, random: Random): void {
  const zone = oneOf(random, [kubelet.labels["topology.kubernetes.io/zone"] ?? "", "z".repeat(63), "", "zone-1"]);
  const many = Object.fromEntries(MANY.map((key) => [key, "x".repeat(63)]));
  const own = random() < 0.5 ? many : {};
  world.move(kubelet, { ...own, "topology.kubernetes.io/region": "here", "topology.kubernetes.io/zone": zone });
}
