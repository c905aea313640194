/** The nodes of all shards, and what blocks remediations besides freezes: limits, a halt, a stale view. */
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { NodePolicy } from "../../../protocols/policy-set.ts";
import type { Io, Stop } from "../../../protocols/ports.ts";
import { SHARD_COUNT, shardOf } from "../../../protocols/subjects.ts";
import { hasClusterBreaker, hasLimits } from "../../domain/limited-policies.ts";
import { domainKeyOf } from "../../domain/zone-key.ts";
import { LimitBlocks, LimitReceiver } from "../../platform/node-policies/limit-blocks.ts";
import { feedShard, type ShardFeed } from "../../platform/shard-view/shard-feed.ts";
import { ZoneHalts } from "../../platform/shard-view/zone-halts.ts";

/** What is known of the nodes, once there is a policy with remediations. */
export class RemediationBlocks {
  readonly #io: Io;
  readonly #limits: LimitBlocks;
  readonly #limitReceiver: LimitReceiver;
  readonly #halts: ZoneHalts;
  readonly #stops: readonly Stop[];
  readonly #nodes = new Map<string, ObservedNode>();
  #feeds: readonly ShardFeed[] = [];

  constructor(io: Io) {
    const { bus, clock, profile } = io;
    this.#io = io;
    this.#limits = new LimitBlocks(profile);
    this.#limitReceiver = new LimitReceiver(io, this.#limits, () => {});
    this.#halts = new ZoneHalts(profile);
    this.#stops = [
      bus.subscribe("judged.zone", "all", ({ body, source }) => this.#halts.onZone(body, source, clock.monotonicMs())),
      bus.onGap((type, shard) => {
        if (type.startsWith("observed.")) this.#feeds[shard]?.markSuspect("messages went missing", null);
      }),
    ];
  }

  stop(): void {
    this.#limitReceiver.stop();
    for (const stop of this.#stops) stop();
    for (const feed of this.#feeds) feed.stop();
  }

  /** Applies the policies with remediations; the first one begins to follow the nodes. */
  follow(policies: readonly NodePolicy[]): void {
    this.#limitReceiver.follow(policies);
    if (policies.length === 0 || this.#feeds.length > 0) return;
    this.#feeds = Array.from({ length: SHARD_COUNT }, (_, shard) =>
      feedShard(this.#io, shard, {
        needs: ["nodes"],
        reader: {
          node: (node) => this.#nodes.set(node.node, node),
          gone: ({ node }) => this.#nodes.delete(node),
        },
      }),
    );
  }

  nodes(): ObservedNode[] {
    return [...this.#nodes.values()];
  }

  node(name: string): ObservedNode | null {
    return this.#nodes.get(name) ?? null;
  }

  /** Whether the shard of a node is not synced. */
  isBlind(name: string): boolean {
    return this.#feeds[shardOf(name)]?.view.blindness(this.#io.clock.monotonicMs()) !== null;
  }

  /** What blocks a remediation of a node of a policy; null for nothing. */
  blockedBy(node: ObservedNode, policy: NodePolicy): string | null {
    const { clock, profile } = this.#io;
    if (this.isBlind(node.node)) return "a view that is not synced";
    if (this.#halts.isHalted(domainKeyOf(node.labels, policy))) return "the halt while every zone is disrupted";
    const isLimited = hasLimits(policy) || hasClusterBreaker(profile);
    if (profile.upstream === "beside" && isLimited) return "a limit, which no process counts with --upstream=beside";
    return this.#limits.blockedBy(policy, { nowMs: clock.monotonicMs(), wallMs: clock.wallMs() });
  }
}
