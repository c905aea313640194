/** A record of what happens to nodes, leases and pods on an API server, for a test to check. It changes nothing. */
import type { Taint } from "../../protocols/objects.ts";

/** A node, as far as it is recorded. */
export interface RecordedNode {
  readonly zone: string;
  /** Whether its Ready condition is Unknown. */
  readonly isUnknown: boolean;
  readonly noExecute: readonly Taint[];
}

/** A NoExecute taint of a node. */
interface PutTaint {
  readonly node: string;
  readonly zone: string;
  /** By its own `timeAdded`, which is cut to whole seconds. */
  readonly addedAt: number;
  /** When the API accepted it. */
  readonly seenAt: number;
}

const SECOND_MS = 1000;

/** The record of one API server. Instants are epoch milliseconds. */
export class FleetRecord {
  /** The last renewal of each node's lease. */
  readonly renewedAt = new Map<string, number>();
  /** The longest pause between two renewals of each node's lease, in milliseconds. */
  readonly longestPauseMs = new Map<string, number>();
  /** When each node was made Unknown, in order. */
  readonly unknownAt = new Map<string, number[]>();
  readonly taints: PutTaint[] = [];
  /** When the deletion of a pod was requested, by the pod's node. */
  readonly deletedAt = new Map<string, number[]>();

  readonly #nodes = new Map<string, RecordedNode>();

  /** Records a renewal of a node's lease. */
  renewed(node: string, atMs: number): void {
    const pauseMs = atMs - (this.renewedAt.get(node) ?? atMs);
    this.longestPauseMs.set(node, Math.max(pauseMs, this.longestPauseMs.get(node) ?? 0));
    this.renewedAt.set(node, atMs);
  }

  /** Records a node as the API shows it now. */
  changed(name: string, now: RecordedNode): void {
    const before = this.#nodes.get(name);
    this.#nodes.set(name, now);
    if (now.isUnknown && before?.isUnknown !== true) append(this.unknownAt, name, Date.now());
    const known = new Set(before?.noExecute.map(({ key }) => key));
    for (const { key, timeAdded = "" } of now.noExecute) {
      if (known.has(key)) continue;
      this.taints.push({ node: name, zone: now.zone, addedAt: Date.parse(timeAdded), seenAt: Date.now() });
    }
  }

  /** Records a request to delete a pod of a node that the server does not refuse as outdated. */
  deleted(node: string): void {
    append(this.deletedAt, node, Date.now());
  }

  /** Whether a node carries a NoExecute taint now. */
  isTainted(node: string): boolean {
    return (this.#nodes.get(node)?.noExecute.length ?? 0) > 0;
  }

  /** The first NoExecute taint of a node. */
  taintOf(node: string): PutTaint | undefined {
    return this.taints.find((taint) => taint.node === node);
  }

  /**
   * How much longer than its grace each of these nodes was silent before it was made Unknown; infinite if it is not.
   */
  latenessMs(nodes: readonly string[], graceMs: number): number[] {
    return nodes.map((node) => {
      const [first = Number.POSITIVE_INFINITY] = this.unknownAt.get(node) ?? [];
      return first - (this.renewedAt.get(node) ?? 0) - graceMs;
    });
  }

  /**
   * How much later than its toleration, from the taint's own instant on, the first pod of each of these nodes was
   * deleted; minus infinity for one that was never deleted or has no taint.
   */
  evictionLatenessMs(nodes: readonly string[], tolerationSeconds: number): number[] {
    return nodes.map((node) => {
      const [deletedAt = Number.NEGATIVE_INFINITY] = this.deletedAt.get(node) ?? [];
      return deletedAt - (this.taintOf(node)?.addedAt ?? Number.POSITIVE_INFINITY) - tolerationSeconds * SECOND_MS;
    });
  }

  /** Nodes, each with one pod, with more than one deletion. */
  deletedAgain(): string[] {
    return [...this.deletedAt].filter(([, { length }]) => length > 1).map(([node]) => node);
  }

  /**
   * The windows, between any two taints of one zone, that contain more taints than the rate and one token allow; the
   * test expects none. A stamp may be up to a second early, and a request as late where other suites use the processor.
   */
  brokenWindows(taintsPerSecond: number): string[] {
    const zones = Map.groupBy(this.taints, ({ zone }) => zone);
    return [...zones].flatMap(([zone, taints]) => {
      const stamps = taints.map(({ addedAt }) => addedAt).toSorted((left, right) => left - right);
      return stamps.flatMap((from, first) =>
        stamps.slice(first).flatMap((to, after) => {
          const most = 1 + (taintsPerSecond * (to - from + 2 * SECOND_MS)) / SECOND_MS;
          return after + 1 > most ? [`${zone}: ${after + 1} from ${from} to ${to}`] : [];
        }),
      );
    });
  }
}

function append(lists: Map<string, number[]>, key: string, value: number): void {
  lists.set(key, [...(lists.get(key) ?? []), value]);
}
