/** Known bugs as changes of the source: what each is, and how it is planted. It runs nothing. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A bug and how it is planted: one text of a file, found there once, in the place of another. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** The bugs, each of which the simulator must catch. */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: "skipped re-read",
    file: "services/node-writer/node-asks.ts",
    from: "!refutesSilence(ask.basis, lease.renewedAt)",
    to: "lease !== null",
  },
  {
    name: "ignored pulse",
    file: "services/runtime/shard-sight.ts",
    from: 'if (nowMs - this.#heardAt >= this.#profile.pulseTimeoutMs) return "no pulse from the observer";',
    to: "",
  },
  {
    name: "bucket reset on restart",
    file: "services/zone/zone.actor.ts",
    from: "this.#bucket = atRate(spentAt === null ? bucket : paid(bucket, spentAt, now), perSecond, now);",
    to: "this.#bucket = newBucket(perSecond, now);",
  },
  {
    name: "deadline from now",
    file: "services/taint-manager/tainted-node.ts",
    from: "this.#taints = knownTaints(node, this.#taints, { ...now, ...seen });",
    to:
      "this.#taints = knownTaints(node, this.#taints, { ...now, ...seen })" +
      ".map((k) => ({ ...k, since: now.monotonicMs }));",
  },
  {
    name: "name instead of UID",
    file: "services/pod-writer/pod-writer.policy.ts",
    from: "return conflicts < VERSION_CONFLICTS_MAX ? { uid: pod.uid, resourceVersion } : { uid: pod.uid };",
    to: "return {} as { uid: string };",
  },
  {
    name: "float64 threshold",
    file: "services/zone/zone.policy.ts",
    from: "const share = Math.fround(Math.fround(notReady) / Math.fround(size));",
    to: "const share = notReady / size;",
  },
  {
    name: "swap in two patches",
    file: "services/node-writer/node-writer.policy.ts",
    from: "const taints: Taint[] = [...kept,",
    to: "const taints: Taint[] = [...(added.length > 0 ? before : kept),",
  },
  {
    name: "lost resync",
    file: "services/runtime/shard-feed.ts",
    from: "if (reason !== null) bus.publish",
    to: 'if (reason === "") bus.publish',
  },
  {
    name: "cancelled timer that still fires",
    file: "services/taint-manager/tainted-node.ts",
    from: "    this.#around.deadlines.remove(sentence.slot);\n    this.#sentences.delete(uid);\n",
    to: "",
  },
  {
    name: "halted zone that still grants",
    file: "services/zone/zone.actor.ts",
    from: "const perSecond = isHalted ? 0 : taintsPerSecondOf(damage, zone.count.size, profile);",
    to:
      "const perSecond = taintsPerSecondOf(damage, zone.count.size, profile);\n" +
      '    if (outlook === "disrupted") this.#options.io.clock.soon(() => this.#grant(clock.monotonicMs()));',
  },
  {
    name: "conflict treated as success",
    file: "services/runtime/write-result.ts",
    from: "export function written(reply: WriteReply, change: string): TryResult {\n",
    to:
      "export function written(reply: WriteReply, change: string): TryResult {\n" +
      '  if (reply.outcome === "conflict") return { outcome: "ok", change, detail: "", resourceVersion: null };\n',
  },
  {
    name: "wrong shard owner",
    file: "services/runtime/fleet.ts",
    from: "const lost = [...owned].filter((shard) => owners[shard] !== this.member);",
    to: "const lost: number[] = [];",
  },
];

/**
 * The text of a bug's file below `root` with the bug in it; throws when the source has moved on and it has no place.
 */
export function planted({ name, file, from, to }: Mutation, root: string): string {
  const text = readFileSync(join(root, file), "utf8");
  const found = text.split(from).length - 1;
  if (found !== 1) throw new Error(`${name}: its text stands ${found} times in ${file}, not once; bring it up to date`);
  return text.replace(from, () => to);
}
