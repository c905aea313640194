/**
 * The least that an outage costs: a client that marks silent nodes at the end of their grace, taints them NoSchedule,
 * and marks their pods. It decides nothing: it receives the names of the silent nodes, reads their leases once, and
 * writes what a controller writes, verdicts first and pods last.
 */
import type { Stop } from "../../protocols/ports.ts";
import { apiTime, epochMsOf } from "../../services/domain/api-time.ts";
import { objectPath } from "../../services/platform/kube/transport/paths.ts";
import { hollowPod } from "../../services/sandbox/hollow/hollow-pods.ts";
import { BareClient } from "./bare-client.ts";
import type { World } from "./bench-world.ts";
import { pause } from "./pause.ts";
import { changesOf, LEASES_PATH, listOf, patch, readyOf } from "./raw-api.ts";

const Urgency = { verdict: 0, taint: 1, pod: 2 } as const;
const CONDITIONS = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];
const UNKNOWN = { status: "Unknown", reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." };
const UNREACHABLE = { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" };
/** A renewal that was under way at the order to fall silent has arrived after so long. */
const SETTLED_MS = 1_000;

/** A world whose silent nodes such a client judges, how many writes it has sent, and its end. */
export interface BarelyJudged {
  readonly world: World;
  requests(): Promise<number>;
  readonly stop: Stop;
}

/** Judges the nodes of a world whenever they are ordered to fall silent, and heals them when they have returned. */
export async function judgeBarely(world: World, graceMs: number): Promise<BarelyJudged> {
  const { wire } = world;
  const client = new BareClient();
  const stop = await changesOf(wire, "/api/v1/nodes", ({ metadata: { name }, spec, status }) => {
    const isHealed = readyOf(status) === "True" && spec.taints?.some(({ key }) => key === UNREACHABLE.key) === true;
    if (isHealed) client.write(Urgency.taint, () => patch(wire, nodePath(name), { spec: { taints: null } }));
  });
  const order: World["order"] = async (given) => {
    const reached = await world.order(given);
    if (given.order === "silence") void judge(world, client, { nodes: new Set(given.selector.names), graceMs });
    return reached;
  };
  return { world: { ...world, order }, requests: async () => client.sent, stop };
}

async function judge(
  world: World,
  client: BareClient,
  { nodes, graceMs }: { readonly nodes: ReadonlySet<string>; readonly graceMs: number },
): Promise<void> {
  await pause(SETTLED_MS);
  const { items } = await listOf(world.wire, LEASES_PATH);
  for (const { metadata, spec } of items) {
    const renewedAt = epochMsOf(spec.renewTime);
    if (!nodes.has(metadata.name) || renewedAt === null) continue;
    setTimeout(() => markNode(world, client, metadata.name), renewedAt + graceMs - Date.now());
  }
}

function markNode({ wire, size }: World, client: BareClient, name: string): void {
  client.write(Urgency.verdict, async () => {
    const now = apiTime(Date.now());
    const conditions = CONDITIONS.map((type) => ({ ...UNKNOWN, type, lastTransitionTime: now }));
    await patch(wire, `${nodePath(name)}/status`, { status: { conditions } }, "strategic-merge");
    const taints = [{ ...UNREACHABLE, timeAdded: now }];
    client.write(Urgency.taint, () => patch(wire, nodePath(name), { spec: { taints } }, "strategic-merge"));
    for (let index = 0; index < size.podsPerNode; index++) {
      const path = `${objectPath(hollowPod(name, index).ref)}/status`;
      const notReady = { type: "Ready", status: "False", lastTransitionTime: now };
      client.write(Urgency.pod, () => patch(wire, path, { status: { conditions: [notReady] } }, "strategic-merge"));
    }
  });
}

function nodePath(name: string): string {
  return objectPath({ kind: "Node", namespace: "", name });
}
