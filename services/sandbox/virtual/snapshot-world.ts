/**
 * A cluster on virtual time that continues from objects read at one instant. Time begins `leadMs` before the snapshot,
 * so heartbeats of its nodes have been observed by then. Each object appears at its stamps, and policies are listed
 * only at the snapshot. Example: the snapshot is from 12:00:00 and time begins 600 s earlier; a lease with the
 * renewTime 11:59:55 is renewed after 595 s.
 */
import { ConditionType } from "../../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../../protocols/objects.ts";
import type { Watched } from "../../../protocols/ports.ts";
import { epochMsOf } from "../../domain/api-time.ts";
import { isSameTaint } from "../../domain/toleration.ts";
import { SnapshotKube } from "./snapshot-kube.ts";
import type { SnapshotObjects } from "./snapshot-objects.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** The lease of no node. Its renewals stand for those of living nodes between theirs, so that there is no outage. */
const PLACEHOLDER = { node: "pacemaker", everyMs: 10_000 } as const;

/** The cluster. Nothing changes in it but what its owner changes, and the leases of living nodes. */
export class SnapshotWorld {
  readonly clock: VirtualClock;
  readonly kube: SnapshotKube;
  readonly #takenAt: number;
  #isAnyAlive = true;

  /** Its time begins `leadMs` before the snapshot. */
  constructor({ takenAt, nodes, renewedAt, pods, resources, freezes }: SnapshotObjects, leadMs: number) {
    this.#takenAt = takenAt;
    this.clock = new VirtualClock({ wallMs: takenAt - leadMs });
    this.kube = new SnapshotKube(this.clock, freezes);
    for (const resource of resources) this.kube.put("policies", resource);
    for (const node of nodes) {
      const heardAt = renewedAt.get(node.node) ?? Number.POSITIVE_INFINITY;
      for (const [at, then] of appearances(node, heardAt)) this.#putAt(at, "nodes", then);
    }
    for (const bound of pods) this.#putAt(Math.max(bound.pod.createdAt, bound.pod.boundAt), "pods", bound);
    for (const [node, at] of renewedAt) {
      this.kube.put("leases", { node, renewedAt: at === null ? null : Math.min(at, takenAt - leadMs) });
      if (at !== null) this.#putAt(at, "leases", { node, renewedAt: at });
    }
    this.#renew([PLACEHOLDER.node], PLACEHOLDER.everyMs);
  }

  /** Advances to the snapshot. From then on only the kubelets of these nodes renew their leases. */
  begin(alive: readonly string[], renewEveryMs: number): void {
    this.clock.advance(this.#takenAt - this.clock.wallMs());
    this.#isAnyAlive = alive.length > 0;
    this.#renew(alive, renewEveryMs);
    this.kube.listPolicies();
  }

  /** Sets a taint as a person would. */
  setTaint(name: string, taint: Taint): void {
    const node = this.kube.get("nodes", name);
    if (node === undefined) return;
    const taints = [...node.taints.filter((each) => !isSameTaint(each, taint)), taint];
    this.kube.put("nodes", { ...node, taints, resourceVersion: `${node.resourceVersion}.tainted` });
  }

  /** Renews leases now, and then again and again while any kubelet is alive. */
  #renew(nodes: readonly string[], everyMs: number): void {
    for (const node of nodes) this.kube.put("leases", { node, renewedAt: this.clock.wallMs() });
    this.clock.after(everyMs, () => {
      if (this.#isAnyAlive) this.#renew(nodes, everyMs);
    });
  }

  /** A stamp after the snapshot is that of a clock that is ahead. */
  #putAt<K extends keyof Watched>(at: number, what: K, object: Watched[K]): void {
    const delayMs = Math.min(at, this.#takenAt) - this.clock.wallMs();
    if (delayMs <= 0) this.kube.put(what, object);
    else this.clock.after(delayMs, () => this.kube.put(what, object));
  }
}

/**
 * A node as it has been, by its stamps: at the instant of each taint and of its last status, and at last as it is. A
 * countdown begins when its taint is observed to appear, and a heartbeat, a cordon or a silence since then does not
 * begin it again. Nor does a cordon begin the silence of a node that was known before. The node is known no later than
 * it was last heard: a heartbeat from before counts from the end of the shorter grace.
 */
function appearances(node: ObservedNode, heardAt: number): readonly (readonly [at: number, then: ObservedNode])[] {
  const stamps = new Set([reportedAt(node), ...node.taints.map(taintedAt).filter(Number.isFinite)]);
  if (heardAt < Math.min(...stamps)) stamps.add(Math.max(heardAt, node.createdAt));
  const instants = [...stamps].toSorted((one, other) => one - other);
  const lastAt = Math.max(...instants);
  return [...instants.slice(0, -1).map((at) => [at, nodeAt(node, at)] as const), [lastAt, node]];
}

/** A node without what came after an instant. If its Ready status did, it was ready before. */
function nodeAt(node: ObservedNode, at: number): ObservedNode {
  const conditions = node.conditions.flatMap((each) => {
    const heartbeatAt = Math.min(each.heartbeatAt ?? at, at);
    if ((each.transitionAt ?? 0) <= at) return [{ ...each, heartbeatAt }];
    const ready = { ...each, heartbeatAt, status: "True", transitionAt: node.createdAt } as const;
    return each.type === ConditionType.ready ? [ready] : [];
  });
  return { ...node, conditions, taints: node.taints.filter((taint) => taintedAt(taint) <= at) };
}

/** The stamp of a taint, in epoch milliseconds; infinite without one. */
function taintedAt({ timeAdded }: Taint): number {
  return epochMsOf(timeAdded) ?? Number.POSITIVE_INFINITY;
}

/** When the status of a node was written last, by its stamps, in epoch milliseconds. */
function reportedAt({ createdAt, conditions }: ObservedNode): number {
  const stamps = conditions.flatMap(({ heartbeatAt, transitionAt }) => [heartbeatAt ?? 0, transitionAt ?? 0]);
  return Math.max(createdAt, ...stamps);
}
