/** The node actors of one shard: starts and ends them as nodes come and go, and routes messages to them. */
import type { Message } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Io, Stop, Timer } from "../../protocols/ports.ts";
import { otherOwnerEndsWithinMs } from "../platform/fleet/live-members.ts";
import { Republishing } from "../platform/shard-view/republishing.ts";
import { feedShard, type ShardFeed } from "../platform/shard-view/shard-feed.ts";
import { translated } from "../platform/shard-view/watch-health.ts";
import { NodeActor } from "./node.actor.ts";
import type { NodeContext } from "./node.context.ts";

/** The start of a message id or source of a node service, in any process. */
const NODE_SERVICE_PREFIX = "node@";

/** What the shards of one process share. */
export type SharedNodeContext = Omit<NodeContext<NodeActor>, "shard" | "waitingForSync" | "markSuspect">;

/** One shard of nodes. */
export class NodeShard {
  readonly #io: Io;
  readonly #feed: ShardFeed;
  readonly #context: NodeContext<NodeActor>;
  readonly #actors = new Map<string, NodeActor>();
  readonly #stops: Stop[];
  readonly #republishing: Republishing<NodeActor>;
  /** Runs until another owner has had time to end; null without one. */
  #otherOwnerTimer: Timer | null = null;

  constructor(shared: SharedNodeContext, shard: number) {
    this.#io = shared.io;
    this.#feed = feedShard(shared.io, shard, {
      needs: ["nodes", "leases"],
      reader: {
        node: (node, previous, cause) => this.#observe(node, previous, cause),
        gone: ({ node }) => this.#end(node),
        pods: ({ node }, _pods, cause) => this.#actors.get(node)?.review(cause),
        outagesChanged: (cause) => this.reviewAll(cause),
        pulse: (cause) => this.#reviewWaiting(cause),
      },
    });
    this.#context = {
      ...shared,
      shard: this.#feed.view,
      waitingForSync: new Set(),
      markSuspect: (reason, cause) => this.#feed.markSuspect(reason, cause),
    };
    const { bus, clock } = shared.io;
    this.#republishing = new Republishing({
      clock,
      known: () => this.#actors.values(),
      publish: (actor, cause) => actor.republish(cause),
    });
    this.#stops = [
      bus.subscribe("observed.lease", shard, (message) => this.#onHeartbeats(message)),
      bus.subscribe("asked.drain", shard, ({ body, id }) => this.#actors.get(body.node)?.grantDrain(body.uid, id)),
      bus.subscribe("done.write", shard, ({ body, id, cause }) => {
        const isFromNodeService = cause?.startsWith(NODE_SERVICE_PREFIX) === true;
        if (isFromNodeService && !cause.startsWith(`${this.#source}:`)) this.#outlastOtherOwner(id);
        this.#actors.get(body.node)?.written(body, id);
      }),
      bus.subscribe("asked.resync", shard, ({ source, id }) => this.#republishFor(source, id)),
    ];
  }

  /** The source of what this service publishes. */
  get #source(): string {
    return `${NODE_SERVICE_PREFIX}${this.#io.fleet.member}`;
  }

  /** Marks the view suspect after messages of this shard were lost. */
  gap(): void {
    this.#feed.markSuspect("messages went missing", null);
  }

  /** Applies the start or end of a halt to the nodes of its zone. */
  zoneHalted(zone: string, isHalted: boolean, cause: string): void {
    for (const actor of this.#actors.values()) if (actor.zone === zone) actor.zoneHalted(isHalted, cause);
  }

  /** Reviews every node, because what all of them are judged by has changed. */
  reviewAll(cause: string | null): void {
    for (const actor of this.#actors.values()) actor.review(cause);
  }

  /** Ends every actor and every subscription. */
  stop(): void {
    this.#feed.stop();
    this.#republishing.stop();
    for (const stop of this.#stops) stop();
    this.#otherOwnerTimer?.cancel();
    for (const actor of this.#actors.values()) actor.end();
    this.#actors.clear();
  }

  #observe(node: ObservedNode, previous: ObservedNode | null, cause: string): void {
    if (previous !== null && previous.uid !== node.uid) this.#end(node.node);
    const known = this.#actors.get(node.node);
    if (known !== undefined) {
      known.observe(node, cause);
      return;
    }
    const actor = new NodeActor(this.#context, node);
    this.#actors.set(node.node, actor);
    actor.review(cause);
  }

  #end(name: string): void {
    this.#actors.get(name)?.end();
    this.#actors.delete(name);
  }

  /** Reviews only after the whole message: the old status of a live node may come before its renewed lease. */
  #onHeartbeats({ body, at, id }: Message<"observed.lease">): void {
    const nowMs = this.#io.clock.monotonicMs();
    const changed = new Set<NodeActor>();
    for (const heartbeat of body.heartbeats) {
      const actor = this.#actors.get(heartbeat.node);
      if (actor?.onHeartbeat(heartbeat, translated(heartbeat.seenAt, at, nowMs), id) === true) changed.add(actor);
    }
    for (const actor of changed) actor.review(id);
  }

  #reviewWaiting(cause: string): void {
    const { waitingForSync: waiting, shard } = this.#context;
    if (waiting.size === 0 || shard.blindness(this.#io.clock.monotonicMs()) !== null) return;
    const actors = [...waiting];
    waiting.clear();
    for (const actor of actors) actor.review(cause);
  }

  /** Republishes the judgements, because the process that requests a resync needs them too. */
  #republishFor(source: string, cause: string): void {
    if (source === this.#source) return;
    if (source.startsWith(NODE_SERVICE_PREFIX)) this.#outlastOtherOwner(cause);
    this.#republishing.begin(cause);
  }

  /**
   * Another node service acts as the owner of this shard: it requested a resync or a write of a node. It may be
   * mistaken, because it was suspended or missed the pulses of this member. Then its last judgements would remain after
   * it has noticed, so this shard republishes its own once the other has had the time to notice. If the other one is
   * the owner, this shard ends before that.
   */
  #outlastOtherOwner(cause: string): void {
    const { clock, profile } = this.#io;
    this.#otherOwnerTimer?.cancel();
    this.#otherOwnerTimer = clock.after(otherOwnerEndsWithinMs(profile), () => {
      this.#otherOwnerTimer = null;
      this.#republishing.begin(cause);
    });
  }
}
