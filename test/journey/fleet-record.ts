/** A record of what happens to nodes, leases and pods on an embedded API, for a test to check. It changes nothing. */
import type { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import type { Stored } from "../../services/sandbox/apiserver/store/stored.ts";

/** A node as the API shows it, with the fields that the record reads. */
interface ShownNode {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: {
    readonly taints?: readonly { readonly key: string; readonly effect: string; readonly timeAdded?: string }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
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

/** The record of one API server from now on. Instants are epoch milliseconds. */
export class FleetRecord {
  /** The last renewal of each node's lease. */
  readonly renewedAt = new Map<string, number>();
  /** When each node was made Unknown, in order. */
  readonly unknownAt = new Map<string, number[]>();
  readonly taints: PutTaint[] = [];
  /** When the deletion of a pod was requested, by the pod's node. */
  readonly deletedAt = new Map<string, number[]>();

  constructor(api: ApiServer) {
    api.store.collection("leases").listen(({ now }) => this.renewedAt.set(now.name, Date.now()));
    api.store.collection("nodes").listen(({ now, before }) => this.#compare(before, now));
    api.faults.add({
      fault: { kind: "latency" },
      when: ({ verb, resource, namespace, name }) => {
        if (verb !== "delete" || resource.plural !== "pods") return false;
        append(this.deletedAt, api.store.collection("pods").get(namespace, name)?.node ?? name, Date.now());
        return false;
      },
    });
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
   * The windows, between any two taints of one zone, that hold more taints than the rate and one token allow; the test
   * expects none. A stamp may be up to a second early.
   */
  brokenWindows(taintsPerSecond: number): string[] {
    const zones = Map.groupBy(this.taints, ({ zone }) => zone);
    return [...zones].flatMap(([zone, taints]) => {
      const stamps = taints.map(({ addedAt }) => addedAt).toSorted((left, right) => left - right);
      return stamps.flatMap((from, first) =>
        stamps.slice(first).flatMap((to, after) => {
          const most = 1 + (taintsPerSecond * (to - from + SECOND_MS)) / SECOND_MS;
          return after + 1 > most ? [`${zone}: ${after + 1} from ${from} to ${to}`] : [];
        }),
      );
    });
  }

  #compare(before: Stored | null, now: Stored): void {
    const [had, has] = [before, now].map((stored) => (stored === null ? null : shown(stored)));
    if (isUnknown(has) && !isUnknown(had)) append(this.unknownAt, now.name, Date.now());
    const known = new Set(noExecuteOf(had).map(({ key }) => key));
    for (const { key, timeAdded = "" } of noExecuteOf(has)) {
      if (known.has(key)) continue;
      const zone = has?.metadata.labels?.["topology.kubernetes.io/zone"] ?? "";
      this.taints.push({ node: now.name, zone, addedAt: Date.parse(timeAdded), seenAt: Date.now() });
    }
  }
}

function append(lists: Map<string, number[]>, key: string, value: number): void {
  lists.set(key, [...(lists.get(key) ?? []), value]);
}

function shown(stored: Stored): ShownNode {
  return JSON.parse(stored.json);
}

function isUnknown(node: ShownNode | null | undefined): boolean {
  return node?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "Unknown") === true;
}

function noExecuteOf(node: ShownNode | null | undefined) {
  return (node?.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
}
