/**
 * A fault that is never repaired, in a quiet run: it stays in the calm. It says what cannot be right then; all else
 * must be, and in time. It knows no rule of Vigil.
 */
import type { Random } from "../../../protocols/ports.ts";
import type { Call, Verb } from "../../../services/sandbox/apiserver/routes.ts";
import { between, oneOf } from "../chance.ts";
import { type CheckedNode, conditionOf, isPaced } from "../invariants.ts";
import type { Reach } from "../meddler.ts";
import type { Wrong, WrongKind } from "../oracle.ts";
import type { World } from "../world.ts";

/** The resources that are watched. */
const WATCHED = ["nodes", "pods", "leases"] as const;
/** What a server sends at least each minute is overdue after a minute and a half; then the watch is opened again. */
const SILENCE_MS = 95_000;
/** Watches of a server that is overloaded are so far behind. */
const LAG_MAX_MS = 4_000;

/** A fault that lasts. Instants are on the wall clock. */
export interface LastingFault {
  /** Until when its effect may be unknown to Vigil, which may be late until then and for one retry. */
  readonly knownAtMs: number;
  /** Whether a view is lost until then. */
  readonly isOfView: boolean;
  /** How far watches are behind, in milliseconds. */
  readonly lagMs: number;
  /** Whether something cannot be right while it lasts. */
  readonly excuses: (wrong: Wrong) => boolean;
  /** The resource that no process can see any more; null where all see everything. */
  readonly unseen: string | null;
  /** Whether the API shows what Vigil knows of nodes: not where it cannot read that, or cannot write it. */
  readonly isShown: boolean;
  /** The beginning of a warning that some process must log within a minute; absent where an outcome reports it. */
  readonly warning?: string;
}

/** A right that is removed, and what is impossible without it. */
interface Right {
  readonly verb: Verb;
  readonly plural: string;
  readonly subresource?: string;
  readonly without: readonly WrongKind[];
  /** Whether a taint that evicts is not replaced, and with it the NoSchedule taints of its node. */
  readonly holdsSwaps?: boolean;
  /** What is warned about in a process that remembers outages. */
  readonly warning?: string;
}

const RIGHTS: readonly Right[] = [
  { verb: "patch", plural: "nodes", subresource: "status", without: ["status"] },
  // A pod of a node that is heard again stays, until the taint says so too.
  { verb: "patch", plural: "nodes", subresource: "", without: ["noSchedule", "noExecute", "eviction"] },
  { verb: "patch", plural: "pods", without: ["mark"] },
  { verb: "delete", plural: "pods", without: ["eviction"] },
  { verb: "create", plural: "events", without: [] },
  // A taint that evicts, a mark and a deletion follow a live read of the node, a verdict one of its lease.
  { verb: "get", plural: "nodes", without: ["noExecute", "mark", "eviction"], holdsSwaps: true },
  { verb: "get", plural: "leases", without: ["status", "eviction"] },
  { verb: "patch", plural: "leases", without: [], warning: "the memory of outages cannot be written" },
];
/** All that depends on a view. */
const SEEN_IN: Readonly<Record<(typeof WATCHED)[number], readonly WrongKind[]>> = {
  nodes: ["status", "noSchedule", "noExecute", "mark", "eviction"],
  pods: ["mark", "eviction"],
  leases: ["status", "noSchedule", "noExecute", "mark", "eviction"],
};

/** The key of the NoExecute taint that each status of a node replaces another one by. */
const SWAPPED: Readonly<Record<string, string>> = {
  False: "node.kubernetes.io/not-ready",
  Unknown: "node.kubernetes.io/unreachable",
};

/** The kinds of lasting faults, each of which begins one. */
const KINDS: readonly ((reach: Reach, random: Random) => LastingFault)[] = [
  silentWatches,
  laggingWatches,
  missingRight,
  missingRight,
  missingView,
  heldWrites,
];

/** Begins a lasting fault. */
export function beginLastingFault(reach: Reach, random: Random): void {
  reach.world.lastingFault = oneOf(random, KINDS)(reach, random);
}

function faultOf(reach: Reach, what: string, given: Partial<LastingFault>): LastingFault {
  reach.struck(what);
  reach.count(`lasting fault: ${what.split(":")[0]}`);
  const atMs = reach.world.clock.wallMs();
  return { knownAtMs: atMs, isOfView: false, lagMs: 0, excuses: () => false, unseen: null, isShown: true, ...given };
}

/** The open watches of a resource stay open and send nothing any more; new ones work. */
function silentWatches(reach: Reach, random: Random): LastingFault {
  const { api, clock } = reach.world;
  const storage = oneOf(random, WATCHED);
  api.faults.silenceOpenWatches(storage);
  return faultOf(reach, `silent watches: ${storage}`, { knownAtMs: clock.wallMs() + SILENCE_MS, isOfView: true });
}

/** The watches of each resource are behind, each by a time of its own. */
function laggingWatches(reach: Reach, random: Random): LastingFault {
  const lags = WATCHED.map((storage) => [storage, between(random, 0, LAG_MAX_MS)] as const);
  for (const [storage, lagMs] of lags) reach.world.api.faults.lagWatches(storage, lagMs);
  return faultOf(reach, `lagging watches: ${lags.join(" ")}`, { lagMs: Math.max(...lags.map(([, lagMs]) => lagMs)) });
}

function missingRight(reach: Reach, random: Random): LastingFault {
  const { verb, plural, subresource, without, holdsSwaps = false, warning } = oneOf(random, RIGHTS);
  deny(
    reach,
    (call) =>
      call.verb === verb &&
      call.resource.plural === plural &&
      (subresource === undefined || call.subresource === subresource),
  );
  const name = `${verb} ${plural}${subresource ? `/${subresource}` : ""}`;
  const excuses = (wrong: Wrong): boolean =>
    without.includes(wrong.kind) || (holdsSwaps && isPartOfSwap(wrong, reach.world));
  const isRemembered = reach.world.swarm.remembersOutages === true;
  const reported = warning === undefined || !isRemembered ? {} : { warning };
  return faultOf(reach, `missing right: ${name}`, { excuses, isShown: !without.includes("status"), ...reported });
}

/**
 * Whether a NoSchedule taint is replaced in one patch with a NoExecute taint: its node carries that of another status.
 * A node that is ready loses both, which follows no live read.
 */
export function isPartOfSwap({ kind, node: name }: Wrong, { api, swarm }: Pick<World, "api" | "swarm">): boolean {
  const stored = api.store.collection("nodes").get("", name);
  if (kind !== "noSchedule" || stored === undefined || swarm.profile.evictionMode === "direct") return false;
  const node = JSON.parse(stored.json) as CheckedNode;
  const key = SWAPPED[conditionOf(node, "Ready")?.status ?? ""];
  return key !== undefined && (node.spec?.taints ?? []).some((taint) => isPaced(taint) && taint.key !== key);
}

/** Neither lists nor watches of a resource are allowed any more, and its watches end. */
function missingView(reach: Reach, random: Random): LastingFault {
  const { api } = reach.world;
  const storage = oneOf(random, WATCHED);
  deny(reach, ({ verb, resource }) => (verb === "list" || verb === "watch") && resource.storage === storage);
  api.faults.cutWatches({ storage, how: "end" });
  const excuses = ({ kind }: Wrong): boolean => SEEN_IN[storage].includes(kind);
  return faultOf(reach, `missing view: ${storage}`, { isOfView: true, excuses, unseen: storage, isShown: false });
}

function deny({ world }: Reach, when: (call: Call) => boolean): void {
  const fault = { kind: "status", code: 403, message: "forbidden: no RBAC policy matched" } as const;
  world.api.faults.add({ fault, when: (call) => world.writer !== "" && when(call) });
}

/** A webhook without pods blocks every write to a node, or to the pods of a node. */
function heldWrites(reach: Reach, random: Random): LastingFault {
  const { world } = reach;
  const { name } = world.anyKubelet(random);
  const isOfNode = random() < 0.4;
  const isHeld = (call: Call): boolean => {
    if (isOfNode) return call.resource.storage === "nodes" && call.name === name;
    const pods = world.api.store.collection("pods").onNode(name);
    return call.resource.storage === "pods" && pods.some((pod) => pod.name === call.name);
  };
  const isWrite = ({ verb }: Call): boolean => verb === "patch" || verb === "delete" || verb === "create";
  const when = (call: Call): boolean => world.writer !== "" && isWrite(call) && isHeld(call);
  world.api.faults.add({ fault: { kind: "stall" }, when });
  const excuses = ({ node, pod }: Wrong): boolean => node === name && (isOfNode || pod !== null);
  return faultOf(reach, `held writes: ${isOfNode ? "node" : "pods of node"} ${name}`, { excuses, isShown: !isOfNode });
}
