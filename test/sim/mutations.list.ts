/** Known bugs as changes of the source. It runs nothing. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Situation } from "./swarm.ts";

/** A bug as a replacement: a text that occurs once in a file, and its substitute. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The class or plot that makes the bug show: seeds that draw it run first. */
  readonly showsIn?: Situation;
}

/** The bugs, each of which the simulator must catch. */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: "conditions of any type",
    file: "services/platform/kube/watch/projection.ts",
    from: "if (!CONDITION_TYPES.includes(type) && !types.includes(type)) return null;",
    to: "",
    showsIn: "hostileNodes",
  },
  {
    name: "skipped re-read",
    file: "services/node-writer/node-write-attempt.ts",
    from: "refutesSilence(ask.body.basis, renewedAt)",
    to: "lease === null",
  },
  {
    name: "ignored pulse",
    file: "services/platform/shard-view/watch-health.ts",
    from: 'if (nowMs - this.#lateness.receivedMs >= pulseWaitMs(this.#profile)) return "no pulse from the observer";',
    to: "",
  },
  {
    name: "bucket reset on restart",
    file: "services/zone/zone.actor.ts",
    from: "this.#bucket = atRate(spentAt === null ? bucket : paid(bucket, spentAt, now), perSecond, now);",
    to: "this.#bucket = newBucket(perSecond, now);",
    showsIn: "restartsInPace",
  },
  {
    name: "deadline from now",
    file: "services/taint-manager/tainted-node.ts",
    from: "this.#taints = knownTaints(node, before, { ...now, ...seen });",
    to:
      "this.#taints = knownTaints(node, before, { ...now, ...seen })" +
      ".map((k) => ({ ...k, since: now.monotonicMs }));",
    showsIn: "restartsInCountdowns",
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
    showsIn: "tiedZone",
  },
  {
    name: "swap in two patches",
    file: "services/node-writer/node-writer.policy.ts",
    from: "const taints: Taint[] = [...kept,",
    to: "const taints: Taint[] = [...(added.length > 0 ? before : kept),",
    showsIn: "changesOfIllness",
  },
  {
    name: "lost resync",
    file: "services/platform/shard-view/shard-feed.ts",
    from: "if (reason !== null) bus.publish",
    to: 'if (reason === "") bus.publish',
  },
  {
    name: "cancelled timer that still fires",
    file: "services/taint-manager/tainted-node.ts",
    from: "    this.#context.deadlines.remove(schedule.slot);\n    this.#schedules.delete(uid);\n",
    to: "",
  },
  {
    name: "halted zone that still grants",
    file: "services/zone/zone.actor.ts",
    from: "const perSecond = taintsPerSecondOf(disruption, zone.count.size, profile);",
    to:
      "const perSecond = taintsPerSecondOf(announcedState(this.#state), zone.count.size, profile);\n" +
      '    if (allZones === "disrupted") this.#options.io.clock.soon(() => this.#grant(clock.monotonicMs()));',
    showsIn: "everyZoneSilent",
  },
  {
    name: "conflict treated as success",
    file: "services/platform/requests/write-result.ts",
    from: "export function written(reply: WriteReply, change: string): TryResult {\n",
    to:
      "export function written(reply: WriteReply, change: string): TryResult {\n" +
      '  if (reply.outcome === "conflict") return { outcome: "ok", change, detail: "", resourceVersion: null };\n',
  },
  {
    name: "wrong shard owner",
    file: "services/platform/fleet/fleet.ts",
    from: "const lost = [...owned].filter((shard) => owners[shard] !== this.member);",
    to: "const lost: number[] = [];",
  },
  {
    name: "identity not named in node writes",
    file: "services/node-writer/node-writer.policy.ts",
    from: "  return { resourceVersion, uid };\n",
    to: "  return { resourceVersion, uid: uid.slice(uid.length) };\n",
  },
  {
    name: "grace that ends a millisecond early",
    file: "services/node/silence.policy.ts",
    from: "export const FIRST_LATER_MS = 1;",
    to: "export const FIRST_LATER_MS = 0;",
  },
  {
    name: "closed resync that sweeps nothing",
    file: "services/platform/shard-view/shard-view.ts",
    from: "return this.#agrees ? [] : this.#sweep();",
    to: "return this.#agrees || this.#sweep.length === 0 ? [] : this.#sweep();",
    showsIn: "departures",
  },
  {
    name: "judging before the view is whole",
    file: "services/platform/shard-view/shard-view.ts",
    from: 'return this.watchHealth.blindness(nowMs) ?? this.#suspectReason ?? (this.#agrees ? null : "messages are missing");',
    to: "return this.watchHealth.blindness(nowMs);",
  },
  {
    name: "Event of a deletion that was not accepted",
    file: "services/ledger/state/pod-records.ts",
    from: 'outcome === "ok" && before.get(uid)?.order !== "done"',
    to: 'outcome !== "refused" && before.get(uid)?.order !== "done"',
    showsIn: "deniedDeletes",
  },
  {
    name: "pod-writer without its deadline check",
    file: "services/pod-writer/pod-writer.policy.ts",
    from:
      '  if (eviction.at > ask.deadlineAt) return notNeeded("refused", "its deadline is later by the taints as they are now");\n' +
      '  if (eviction.at > rules.latestMs + CLOCKS_APART_MS) return notNeeded("refused", "its deadline has not come yet");\n',
    to: "",
    showsIn: "renewedTaints",
  },
  {
    name: "no whole grace after a halt",
    file: "services/node/node.actor.ts",
    from: "    this.#heartbeats.rebase(endedMs);\n",
    to: "",
    showsIn: "endOfHalt",
  },
  {
    name: "deadline that fires while blind",
    file: "services/taint-manager/taint-manager.service.ts",
    from: "    if (!isFrozen && !this.#isBlind()) schedule.node.requestEviction(schedule);",
    to: "    if (!isFrozen) schedule.node.requestEviction(schedule);",
    showsIn: "lostNews",
  },
  {
    name: "stale first observation accepted",
    file: "services/taint-manager/taint-manager.policy.ts",
    from: "  const { monotonicMs, wallMs, absentMs } = view;\n",
    to: "  const { monotonicMs, wallMs } = view;\n  const absentMs = Number.NEGATIVE_INFINITY;\n",
    showsIn: "renewedTaints",
  },
  {
    name: "unknown zone ignored by the all-zones rule",
    file: "services/zone/zone.policy.ts",
    from: 'if (damage === null) state = "unclear";\n    else if (damage',
    to: "if (damage",
  },
  {
    name: "pods of a living kubelet marked over and over",
    file: "services/node/unready.policy.ts",
    from: 'return ready.status === "Unknown" ? candidates : candidates.filter(({ uid }) => bound?.unmarked.has(uid) === true);',
    to: 'return bound === null && ready.status !== "Unknown" ? [] : candidates;',
    showsIn: "joiningNodes",
  },
  {
    name: "token spent again when its taint lands",
    file: "services/zone/zone.service.ts",
    from: '.evictionMode !== "taint" || this.#grants.complete(node, this.#now())) return;',
    to: '.evictionMode !== "taint" || this.#now() < 0) return;',
    showsIn: "longQueue",
  },
  {
    name: "taint without a received grant is not paid",
    file: "services/zone/zone.service.ts",
    from: "    this.#spend(this.#roster.zoneOf(node), null);\n",
    to: "",
    showsIn: "taintsUnderWay",
  },
  {
    name: "late pulse that counts as on time",
    file: "services/platform/shard-view/pulse-lateness.ts",
    from: "    this.#lateMs = this.#latenessOf(pulse, publisher, nowMs);\n",
    to: "    this.#lateMs = Math.min(0, this.#latenessOf(pulse, publisher, nowMs));\n",
    showsIn: "latePulses",
  },
  {
    name: "drain that is paid for twice",
    file: "services/zone/zone.service.ts",
    from: "        if (isOtherOwner(source, io.fleet.member)) this.#spend(body.zone, id);\n",
    to: "        if (source !== body.zone) this.#spend(body.zone, id);\n",
  },
  {
    name: "cut member that keeps its shards",
    file: "services/platform/fleet/offers.ts",
    from: "return offerAfter(offer, { isAble, isFailing, othersOffer, othersAble }, nowMs);",
    to: "return offerAfter(offer, { isAble: isAble || !isAble, isFailing, othersOffer, othersAble }, nowMs);",
    showsIn: "cutMember",
  },
  {
    name: "observer that never forgets a node",
    file: "services/observer/observer.shard.ts",
    from: "    this.#entries.delete(entry.name);\n",
    to: "",
    showsIn: "turnover",
  },
  {
    name: "zones that never forget an announcement",
    file: "services/zone/zone.service.ts",
    from: "      this.#announcements.delete(zone);\n",
    to: "",
    showsIn: "turnover",
  },
  {
    name: "explained by name",
    file: "services/ledger/explain/pod.policy.ts",
    from: "presentPodSentences(pod, read, context.state.pods.get(read.uid), context)",
    to: "presentPodSentences(pod, read, named, context)",
  },
  {
    name: "taints of any key",
    file: "services/node-writer/allowed-changes.policy.ts",
    from: "all.find((id) => !isOwnTaint(id))",
    to: "all.find(() => false)",
    showsIn: "stolenSeeds",
  },
  {
    name: "forced conditions of any type",
    file: "services/node-writer/node-writer.service.ts",
    from: "const foreign = forbiddenChange(ask, profile);",
    to: 'const foreign = ask.type === "asked.condition" ? null : forbiddenChange(ask, profile);',
    showsIn: "stolenSeeds",
  },
  {
    name: "evictions of either mode",
    file: "services/pod-writer/pod-writer.policy.ts",
    from: "return mode === evictionMode ? null :",
    to: "return mode !== undefined || evictionMode !== undefined ? null :",
    showsIn: "stolenSeeds",
  },
  {
    name: "machine's clock believed against the API server's",
    file: "services/platform/kube/transport/server-clock.ts",
    from: "    if (this.#bounds === null) return ownMs;\n",
    to: "    if (this.#bounds === null || nowMs > 0) return ownMs;\n",
    showsIn: "wrongClocks",
  },
  {
    name: "drained node that waits for a grant again",
    file: "services/node/eviction.policy.ts",
    from: "return pods === null ? null : podsToEvict(pods).length > 0;",
    to: "return pods === null ? null : podsToEvict(pods).length >= 0;",
    showsIn: "drainsAndRestart",
  },
  {
    name: "timeAdded believed as it stands",
    file: "services/taint-manager/taint-manager.policy.ts",
    from: "  const sinceMs = Math.min(Math.max(recordedMs, earliestMs), monotonicMs);\n",
    to: "  const sinceMs = earliestMs > Number.POSITIVE_INFINITY ? monotonicMs : recordedMs;\n",
    showsIn: "wrongStamps",
  },
  {
    name: "seconds of the opposite taint",
    file: "services/domain/toleration.ts",
    from: "toleratedTaint: seconds === own ? null : toleratedTaint };",
    to: "toleratedTaint: null };",
    showsIn: "changesOfIllness",
  },
  {
    name: "freeze of a policy that stops nobody",
    file: "services/domain/freeze.ts",
    from: "  if (policy === undefined) return null;\n",
    to: '  if (policy === undefined || policy.name !== "") return null;\n',
    showsIn: "policies",
  },
  {
    name: "healing held back by a freeze",
    file: "services/node-writer/node-write-attempt.ts",
    from: "  if (isGrant(ask) && live !== null) {\n",
    to:
      "  const { everywhere, policies: all } = policies.current() ?? { everywhere: { frozen: [] }, policies: [] };\n" +
      "  const frozen = [everywhere, ...all].flatMap((each) => each.frozen);\n" +
      '  if (frozen.some(({ toAt }) => toAt === null || toAt > wallMs) && ask.type === "asked.taint") {\n' +
      '    if (ask.body.why === "healing") return { kind: "refused", detail: "frozen" };\n' +
      "  }\n" +
      "  if (isGrant(ask) && live !== null) {\n",
    showsIn: "policies",
  },
  {
    name: "out of service before it is admitted",
    file: "services/domain/out-of-service.ts",
    from: 'node.taints.some(isSwappable) ? "due" : "notAdmitted"',
    to: 'node.taints.some(isSwappable) ? "due" : "due"',
    showsIn: "policies",
  },
  {
    name: "two remediations of a node at once",
    file: "services/policy/remediations/remediation.policy.ts",
    from: "last.object.isTimedOut ? nextStep(last.index + 1, situation)",
    to: "!last.object.isEnding ? nextStep(last.index + 1, situation)",
    showsIn: "policies",
  },
  {
    name: "remediation of a healthy node stays",
    file: "services/policy/remediations/remediation.policy.ts",
    from: 'return isOver ? null : "the node is not Ready any more";',
    to: 'return isOver ? "the node is Ready" : "the node is not Ready any more";',
    showsIn: "policies",
  },
  {
    name: "pods of a policy in shadow mode evicted",
    file: "services/platform/kube/shadow/shadow-scope.ts",
    from: '  return kind === "Pod" ? (node ?? "") : null;\n',
    to: '  return kind === "Pod" && node === name ? node : null;\n',
    showsIn: "policies",
  },
  {
    name: "shadow mode of conflicting policies ignored",
    file: "services/domain/policy-shadow.ts",
    from: '    resolved.kind === "conflict" && set.policies',
    to: '    resolved.kind === "conflict" && resolved.names.length > 2 && set.policies',
    showsIn: "policies",
  },
  {
    name: "maxUnhealthy off by one",
    file: "services/zone/limits/limits.policy.ts",
    from: 'unhealthy > nodesAllowed(maxUnhealthy, selected, "down");',
    to: 'unhealthy > nodesAllowed(maxUnhealthy, selected, "down") + 1;',
    showsIn: "policies",
  },
  {
    name: "breaker that never opens",
    file: "services/zone/limits/limits.policy.ts",
    from: "  if (inWindow + permitted < most) return null;\n",
    to: "  if (inWindow + permitted < most || most > 0) return null;\n",
    showsIn: "policies",
  },
  {
    name: "frozen time lost on restart",
    file: "services/policy/freezes.ts",
    from: "if (isNews) this.#memory",
    to: 'if (text === "") this.#memory',
    showsIn: "policies",
  },
  {
    name: "holds forgotten when they are over",
    file: "services/node/maintenance.policy.ts",
    from: "    if (hold.toAt !== null) return possibleHold(hold, situation.now);\n",
    to: "    if (hold.toAt !== null) return [];\n",
    showsIn: "policies",
  },
  {
    name: "budget of one more",
    file: "services/zone/limits/limits.policy.ts",
    from: "  if (condemned + permitted < nodes) return null;\n",
    to: "  if (condemned + permitted <= nodes) return null;\n",
    showsIn: "policies",
  },
  {
    name: "breaker that closes as soon as it trips",
    file: "services/zone/limits/limits.policy.ts",
    from: "nowMs < trippedMs + breaker.resetAfterMs;",
    to: "nowMs <= trippedMs;",
    showsIn: "policies",
  },
  {
    name: "breaker that ignores its percentage",
    file: "services/zone/limits/limits.policy.ts",
    from: "const share = percentage === null ?",
    to: "const share = percentage === null || percentage > 0 ?",
    showsIn: "policies",
  },
  {
    name: "no pause after a storm",
    file: "services/zone/limits/limits.policy.ts",
    from: "if (nowMs < slowMs) return",
    to: "if (nowMs < slowMs - stormCooldownMs) return",
    showsIn: "policies",
  },
  {
    name: "budget whose schedule never runs",
    file: "services/zone/limits/budget.policy.ts",
    from: "return runAt === null || runAt > wallMs ?",
    to: "return runAt === null || runAt > 0 ?",
    showsIn: "policies",
  },
  {
    name: "rate of a policy that counts for nothing",
    file: "services/zone/zone.policy.ts",
    from: "nodeEvictionsPerSecond: policy?.nodeEvictionsPerSecond ?? profile.nodeEvictionsPerSecond,",
    to: "nodeEvictionsPerSecond: profile.nodeEvictionsPerSecond,",
    showsIn: "policies",
  },
  {
    name: "eviction rate of one more",
    file: "services/pod-writer/rates/eviction-order.policy.ts",
    from: "    if (over < 0) return",
    to: "    if (over <= 0) return",
    showsIn: "policies",
  },
  {
    name: "eviction owner that counts from its first minute on",
    file: "services/pod-writer/rates/rates.actor.ts",
    from: "const SETTLE_MS = PERMIT_ENDS_MS + WINDOW_MS;",
    to: "const SETTLE_MS = PERMIT_ENDS_MS + WINDOW_MS - 90_000;",
    showsIn: "policies",
  },
  {
    name: "count that is not handed over",
    file: "services/pod-writer/rates/rates.actor.ts",
    from: "policy.window.inherit(before?.counted ?? []);",
    to: "policy.window.inherit(before?.counted.slice(0, 0) ?? []);",
    showsIn: "policies",
  },
  {
    name: "full disruption at the primary rate",
    file: "services/zone/zone.policy.ts",
    from: "profile.fullDisruptionEvictionsPerSecond ?? profile.nodeEvictionsPerSecond",
    to: "profile.nodeEvictionsPerSecond",
    showsIn: "policies",
  },
  {
    name: "healthyDelay that nobody waits for",
    file: "services/node/taint-hold.policy.ts",
    from: "if (healthyDelayMs !== null) holds.push",
    to: "if (healthyDelayMs === 0) holds.push",
    showsIn: "policies",
  },
  {
    name: "breaker that silence does not open",
    file: "services/zone/limits/limits.actor.ts",
    from: "round.tripByDown();",
    to: "",
    showsIn: "policies",
  },
  {
    name: "unhealthyDelay that nobody waits for",
    file: "services/node/eviction.policy.ts",
    from: 'if (readiness !== "notReady" || delayMs === null) return',
    to: 'if (readiness !== "notReady" || delayMs !== 0) return',
    showsIn: "policies",
  },
  {
    name: "flapping nodes forgotten on restart",
    file: "services/node/ready-record.ts",
    from: "this.transitionsAt = foundTransitions(node, clock.wallMs());",
    to: "this.transitionsAt = foundTransitions({ ...node, readyTransitionsAt: [] }, clock.wallMs());",
    showsIn: "policies",
  },
  {
    name: "condition that is missing counts as healed",
    file: "services/domain/unhealthy-conditions.ts",
    from: 'return status !== null && status !== wrong && status !== "Unknown";',
    to: "return status !== wrong;",
    showsIn: "policies",
  },
  {
    name: "duration of a condition goes on while it is away",
    file: "services/node/condition-sightings.ts",
    from: "const isSame = before?.status === status && (at.isUnbroken",
    to: "const isSame = before !== undefined && (at.isUnbroken",
    showsIn: "policies",
  },
  {
    name: "maintenance that stops nobody",
    file: "services/domain/maintenance.ts",
    from: "  if (open.length === 0) return null;\n",
    to: "  if (open.length >= 0) return null;\n",
    showsIn: "policies",
  },
  {
    name: "end of a freeze explained by its beginning",
    file: "services/ledger/explain/explain-context.ts",
    from: "until: apiTime(freeze.untilAt) })",
    to: "until: apiTime(freeze.sinceAt) })",
    showsIn: "policies",
  },
  {
    name: "waiting node explained by another field",
    file: "services/ledger/explain/queue.policy.ts",
    from: "const values = { field: hold.field, whose,",
    to: 'const values = { field: hold.field === "budgets" ? "maxUnhealthy" : hold.field, whose,',
    showsIn: "policies",
  },
  {
    name: "condemned nodes forgotten beyond those with names",
    file: "services/zone/limits/condemnations.ts",
    from: "earlier: boundedSpans([...this.#unnamed, ...others], condemnationSpansMax),",
    to: "earlier: boundedSpans([], condemnationSpansMax + others.length),",
    showsIn: "policies",
  },
  {
    name: "condemned nodes without names forgotten by the next owner but one",
    file: "services/zone/limits/condemnations.ts",
    from: "boundedSpans([...this.#unnamed, ...others], condemnationSpansMax)",
    to: "boundedSpans(others, condemnationSpansMax)",
    showsIn: "policies",
  },
  {
    name: "a span of condemned nodes counted as one node",
    file: "services/zone/limits/condemnations.ts",
    from: "      nodes += count;\n",
    to: "      nodes += 1;\n",
    showsIn: "policies",
  },
  {
    name: "every condemned node taken for one of those without names",
    file: "services/zone/limits/condemnations.ts",
    from: "if (this.#unnamedMs === null || atMs < this.#unnamedMs.from || atMs > this.#unnamedMs.to) return;",
    to: "if (this.#unnamedMs === null) return;",
    showsIn: "policies",
  },
  {
    name: "condemned nodes without names not read",
    file: "services/zone/limits/limits.actor.ts",
    from: "nodes.inherit(policy, { named, earlier: spans });",
    to: "nodes.inherit(policy, { named, earlier: spans.slice(0, 0) });",
    showsIn: "policies",
  },
  {
    name: "spans dropped beyond their bound",
    file: "services/structures/counted-spans.ts",
    from: "  const partLength =",
    to: "  if (sorted.length > most) return sorted.slice(-most);\n  const partLength =",
    showsIn: "policies",
  },
  {
    name: "counts left out of a memory that is too long",
    file: "services/policy/limit-memory.policy.ts",
    from: "...(spans.length === 0 ? {} : { earlier: [...spans] })",
    to: "...(spans.length < 0 ? { earlier: [...spans] } : {})",
    showsIn: "policies",
  },
  {
    name: "outage that does not pause",
    file: "services/domain/paused-time/outages.ts",
    from: "const stopped = outages.intervals.length === 0 ? frozen :",
    to: "const stopped = outages.intervals.length >= 0 ? frozen :",
    showsIn: "outageAndRestarts",
  },
  {
    name: "outage that is not remembered",
    file: "services/policy/outage-memory.ts",
    from: "    this.#isWriting = true;\n",
    to: "    this.#stored = outages;\n    this.#changed();\n    if (text !== '') return;\n    this.#isWriting = true;\n",
    showsIn: "outageAndRestarts",
  },
  {
    name: "no whole grace after an outage",
    file: "services/domain/paused-time/outages.ts",
    from: "(last.toAt ?? Number.POSITIVE_INFINITY) + graceMs;",
    to: "(last.toAt ?? Number.POSITIVE_INFINITY) + graceMs * 0;",
    showsIn: "outageAndRestarts",
  },
  {
    name: "lease that is not read before a deletion",
    file: "services/pod-writer/pod-eviction.ts",
    from: "const refused = refusalByLease(context, node, lease);",
    to: "const refused = lease.readAtMs < 0 ? refusalByLease(context, node, lease) : null;",
    showsIn: "lateStatuses",
  },
];

/**
 * The text of a bug's file below `root` with the bug in it. Throws when the source has changed and no longer contains
 * the place.
 */
export function planted({ name, file, from, to }: Mutation, root: string): string {
  const text = readFileSync(join(root, file), "utf8");
  const found = text.split(from).length - 1;
  if (found !== 1) throw new Error(`${name}: its text stands ${found} times in ${file}, not once; bring it up to date`);
  return text.replace(from, () => to);
}
