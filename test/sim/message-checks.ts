/**
 * The rules for the messages of the services, checked as they cross the network: the writer's live read must not be the
 * only barrier between a wrong request and the cluster. It shares no code with the services.
 */
import type { AnyMessage, Message, MessageType } from "../../protocols/messages.ts";
import { decode, MalformedMessage } from "../../protocols/wire.ts";
import { ATTACKER } from "./attacker.ts";
import type { Checks } from "./checks.ts";
import { isOnlyLossy, silentMaxMs } from "./fault-bounds.ts";
import { BrokenInvariant, type CheckedNode, isEvictable } from "./invariants.ts";
import type { Network } from "./network.ts";
import type { NodeHistory } from "./node-history.ts";
import { mayGoBack, SHOWING } from "./older-lists.ts";
import { type ViewGap, ViewGaps } from "./view-gaps.ts";
import type { World } from "./world.ts";
import { rateOf, rateStatesOf, shareAgainst } from "./zone-rates.ts";

const SECOND = 1000;
/** Subjects begin with `vigil.v1.sim`, followed by the two words of the type and the shard. */
const TYPE_AT = 3;
const SHARD_AT = 5;
/** Almost every message is a pulse, so these are sorted out before anything else. */
const PULSES = "vigil.v1.sim.observed.pulse.";
const LEASES = "vigil.v1.sim.observed.lease.";
const RESYNCS = "vigil.v1.sim.asked.resync.";
/** What a node service follows of each shard that it owns, and no other service of a shard. */
const DRAINS = "vigil.v1.sim.asked.drain.";
/** What a node service and a taint-manager follow of each shard that they own. */
const PODS = "vigil.v1.sim.observed.pods.";
const ZONES = "vigil.v1.sim.judged.zone.";
/** Messages whose contents are checked; decoding the others would cost more than it shows. */
const OPENED = new Set([
  "asked.condition",
  "asked.taint",
  "asked.drain",
  "asked.eviction",
  "done.write",
  "judged.pod",
  "judged.zone",
]);
/** This long after the faults ended everything has been published to every process. */
const PUBLISHED_MS = 40 * SECOND;
/** Until this long after the faults ended some processes may still be blind; what they delayed comes after that. */
const BACK_MS = 30 * SECOND;
/** This long after the last NoExecute taint left a node every process knows it. */
const KNOWN_MS = 20 * SECOND;
/** An eviction requested this long after its deadline was forgotten for a while; clocks may be some seconds apart. */
const LATE_MS = 45 * SECOND;
/** How long an observer needs to publish what the API shows, where it is not slow. */
const PUBLISH_MS = 1_500;
/** Drift of clocks and the time of a message. */
const ROUNDING = 1.01;

/** The parts of a run that the checks need. */
export interface MessageChecksWorld {
  readonly world: World;
  /** Counts a situation that the run is meant to reach. */
  readonly count: (situation: string) => void;
  readonly history: NodeHistory;
  readonly checks: Checks;
}

/** The last process that observed a shard, and when. */
interface Observing {
  readonly member: string;
  readonly atMs: number;
  /** The one before it; null when there was none. */
  readonly predecessor: Pick<Observing, "member" | "atMs"> | null;
}

/** Follows all messages of a network. */
export class MessageChecks {
  readonly #context: MessageChecksWorld;
  /** When a pulse of a shard last reached a process, by the clock of that process, by both. */
  readonly #pulsesMs = new Map<string, number>();
  /** The last process that pulsed for a shard, and when. */
  readonly #owners = new Map<string, Observing>();
  /** The pods whose eviction each process has requested. */
  readonly #asked = new Set<string>();
  /** Versions that the API gave to nodes. */
  readonly #versions = new Set<string>();
  /** Whether the last announcement of each zone's owner allows grants. */
  readonly #zones = new Map<string, boolean>();
  /** When the faults ended, on the monotonic and on the wall clock; null while they last. */
  #calm: { readonly sinceMs: number; readonly wallMs: number } | null = null;
  #isSettled = false;
  readonly #mayGoBack: boolean;
  /** Null where no client sets taints, because then gaps allow nothing. */
  readonly #gaps: ViewGaps | null;

  constructor(around: MessageChecksWorld) {
    this.#context = around;
    this.#mayGoBack = mayGoBack(around.world);
    const { clock, swarm } = around.world;
    const found = (shard: number, gap: ViewGap): void => around.history.interrupted(shard, gap);
    const isTaintedByOthers = swarm.faults.has("foreignTaints") || swarm.faults.has("humanTaints");
    this.#gaps = isTaintedByOthers ? new ViewGaps(clock, swarm.profile, found) : null;
  }

  /** The faults have ended. */
  calm(): void {
    const { clock } = this.#context.world;
    this.#context.checks.grants.calm();
    this.#context.history.calm(clock.wallMs() + BACK_MS);
    this.#calm = { sinceMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  }

  /** The cluster has recovered: from now on each shard has one owner. */
  settled(): void {
    this.#isSettled = true;
    this.#context.checks.explanations.settled();
  }

  /** The processes without a complete view. */
  waitingProcesses(): string[] {
    return this.#context.checks.explanations.waitingProcesses();
  }

  /** The zones with a wrong last announcement, as text. */
  wrongZones(): string[] {
    const { world } = this.#context;
    const states = rateStatesOf(world.objects<CheckedNode>("nodes"), world.swarm);
    return [...states]
      .filter(([zone, state]) => this.#zones.get(zone) !== (state === "running"))
      .map(([zone, state]) => `zone ${JSON.stringify(zone)} is ${state}, and its owner does not know`);
  }

  /** Records a version that the API gave to a node. */
  version(node: string, resourceVersion: string): void {
    this.#versions.add(`${node} ${resourceVersion}`);
  }

  /** Follows what reaches processes, and what they begin to follow. */
  listen(network: Network): void {
    network.arrived = (subject, payload, { member }) => this.arrived(subject, payload, member);
    network.followed = (pattern, { member }) => this.#gained(pattern, member);
    network.withheld = (subject, from, to) => {
      if (!subject.startsWith(LEASES)) return;
      this.#context.checks.watchViews.withheld(subject.slice(LEASES.length), from.member, to.member);
    };
    network.rejoined = () => this.#context.checks.watchViews.rejoined();
  }

  /** A process begins to follow messages: a gained shard has no past for it. */
  #gained(pattern: string, member: string): void {
    const shard = pattern.split(".")[SHARD_AT] ?? "";
    if (pattern.startsWith(DRAINS)) this.#context.checks.watchViews.gained(shard, member);
    if (pattern.startsWith(PODS)) this.#context.history.gained(Number(shard));
  }

  /** A message reached a process. */
  arrived(subject: string, payload: Uint8Array, member: string): void {
    const { world, count, checks } = this.#context;
    if (subject.startsWith(ZONES)) {
      const message = decode(payload);
      if (!(message instanceof MalformedMessage) && is(message, "judged.zone")) checks.verdicts.hear(message, member);
    }
    if (subject.startsWith(LEASES)) checks.watchViews.heard(subject.slice(LEASES.length), member);
    if (!subject.startsWith(PULSES)) return;
    checks.watchViews.received(shardOfPulse(subject), member, payload);
    this.#gaps?.pulsed(Number(shardOfPulse(subject)), member, payload);
    const key = `${member} ${shardOfPulse(subject)}`;
    const nowMs = checks.watchViews.ownMs(member);
    const gapMs = nowMs - (this.#pulsesMs.get(key) ?? nowMs);
    const { pulseTimeoutMs, nodeMonitorGraceMs } = world.swarm.profile;
    if (gapMs >= pulseTimeoutMs) count("pulse gap that blinds a reader");
    else if (gapMs > world.swarm.profile.pulsePeriodMs * 1.5 && gapMs < nodeMonitorGraceMs) {
      count("pulse gap inside a grace");
    }
    this.#pulsesMs.set(key, nowMs);
  }

  /** A message left a process. */
  crossed(subject: string, payload: Uint8Array, member: string): void {
    if (subject.startsWith(PULSES)) {
      this.#context.checks.watchViews.pulsed(shardOfPulse(subject), member, payload);
      this.#checkOwner(shardOfPulse(subject), member);
      return;
    }
    if (subject.startsWith(RESYNCS)) this.#gaps?.resynced(Number(subject.slice(RESYNCS.length)), member);
    const tokens = subject.split(".");
    const type = `${tokens[TYPE_AT]}.${tokens[TYPE_AT + 1]}`;
    if (SHOWING.has(type) && this.#mayGoBack) this.#checkShown(payload, member);
    if (!OPENED.has(type)) return;
    const shard = tokens[SHARD_AT] ?? "";
    const message = decode(payload);
    if (message instanceof MalformedMessage) throw new BrokenInvariant(`${member} said nonsense: ${message.problem}`);
    const { explanations, tolerationClaims } = this.#context.checks;
    if (is(message, "judged.pod")) {
      if (member !== ATTACKER) tolerationClaims.check(message);
      return;
    }
    // Requests of an attacker need to follow no rule; their outcomes do.
    if (member === ATTACKER) {
      explanations.hearForged(message as AnyMessage);
      return;
    }
    explanations.hear(message as AnyMessage);
    // A request without conditions withdraws a verdict.
    if (is(message, "asked.condition") && message.body.conditions.length > 0) {
      this.#checkView(`${message.body.node} Unknown`, shard, member);
      this.#context.checks.verdicts.check(message, member, shard);
    }
    if (is(message, "asked.eviction")) {
      this.#checkView(`${message.body.name} evicted`, shard, member);
      this.#checkMissed(message, shard, member);
      this.#checkEviction(message, member);
    }
    const hasPolicies = this.#context.world.swarm.policies !== undefined;
    if (is(message, "asked.taint") && !hasPolicies) this.#context.checks.grants.ask(message);
    if (is(message, "asked.drain")) this.#context.checks.drain(message);
    if (is(message, "done.write")) this.#checkDone(message);
    if (is(message, "judged.zone")) {
      this.#zones.set(message.body.zone, message.body.taintsPerSecond > 0);
      if (!hasPolicies) {
        this.#checkZone(message);
        this.#context.checks.zoneClaims.check(message);
      }
    }
  }

  #checkShown(payload: Uint8Array, member: string): void {
    const message = decode(payload);
    if (!(message instanceof MalformedMessage)) this.#context.checks.olderLists.check(message as AnyMessage, member);
  }

  #checkOwner(shard: string, member: string): void {
    const { world, count } = this.#context;
    const before = this.#owners.get(shard);
    const atMs = world.clock.monotonicMs();
    if (before === undefined || before.member === member) {
      this.#owners.set(shard, { member, atMs, predecessor: before?.predecessor ?? null });
      return;
    }
    this.#owners.set(shard, { member, atMs, predecessor: { member: before.member, atMs: before.atMs } });
    // A process that observes again so soon after another replaced it has not handed over: both observe.
    const { predecessor } = before;
    const isBack = predecessor?.member === member && atMs - predecessor.atMs < world.swarm.profile.pulseTimeoutMs;
    if (this.#isSettled && isBack) {
      throw new BrokenInvariant(`${before.member} and ${member} both observe shard ${shard} of a calm fleet`);
    }
    if (atMs - before.atMs < world.swarm.profile.pulsePeriodMs) count("two owners of a shard");
  }

  /**
   * A blind process requests no harm. Only its own time counts: while its clock is suspended with its machine, it
   * cannot know that pulses are missing.
   */
  #checkView(what: string, shard: string, member: string): void {
    const { world, checks } = this.#context;
    const { swarm } = world;
    const heardMs = this.#pulsesMs.get(`${member} ${shard}`) ?? Number.NEGATIVE_INFINITY;
    const blindMs = checks.watchViews.ownMs(member) - heardMs;
    const { pulsePeriodMs, pulseTimeoutMs, watchBlindMs } = swarm.profile;
    if (blindMs <= Math.min(pulseTimeoutMs, pulsePeriodMs + watchBlindMs) * ROUNDING) return;
    throw new BrokenInvariant(`${member} wanted ${what} after ${blindMs} ms without a pulse`);
  }

  /**
   * Where messages are lost and nothing else fails, a process that has received a pulse since the last taint left a
   * node knows that it missed something. It requests no eviction until it has received the shard again.
   */
  #checkMissed({ body }: Message<"asked.eviction">, shard: string, member: string): void {
    const { history, world } = this.#context;
    if (body.mode !== "taint" || !isOnlyLossy(world.swarm) || this.#asked.has(`${member} ${body.uid}`)) return;
    const { clock } = world;
    const heardMs = clock.wallMs() - clock.monotonicMs() + (this.#pulsesMs.get(`${member} ${shard}`) ?? 0);
    const untaintedMs = heardMs - history.evictableAt(body.node);
    const node = world.objects<CheckedNode>("nodes").find(({ metadata }) => metadata.name === body.node);
    if (node === undefined || isEvictable(node, world.swarm) || untaintedMs <= PUBLISH_MS) return;
    throw new BrokenInvariant(
      `${member} heard a pulse ${untaintedMs} ms after ${body.node} lost its taints and wanted ${body.name} evicted`,
    );
  }

  #checkEviction({ body }: Message<"asked.eviction">, member: string): void {
    const key = `${member} ${body.uid}`;
    const isFirst = !this.#asked.has(key);
    this.#asked.add(key);
    if (this.#calm === null || body.mode !== "taint") return;
    const { clock, swarm, objects } = this.#view();
    if (clock.monotonicMs() - this.#calm.sinceMs < PUBLISHED_MS) return;
    const isTainted = objects.some(
      ({ metadata, spec }) =>
        metadata.name === body.node && spec?.taints?.some(({ effect }) => effect === "NoExecute") === true,
    );
    const untaintedMs = clock.wallMs() - this.#context.history.evictableAt(body.node);
    if (!isTainted && untaintedMs > KNOWN_MS + silentMaxMs(swarm)) {
      throw new BrokenInvariant(
        `${body.name} was to be evicted; ${body.node} has not been tainted for ${untaintedMs} ms`,
      );
    }
    // A process that was cut off may have requested the eviction before, without being received.
    if (!isFirst || swarm.faults.has("partitions") || body.taint === null) return;
    const taintedAt = this.#context.history.taintedAt(body.node, body.taint);
    // A countdown stops with the clock of a suspended machine (decision 2).
    const suspendedMs = clock.monotonicMs() - this.#context.checks.watchViews.ownMs(member);
    const dueAt = Math.max(body.deadlineAt + suspendedMs, taintedAt, this.#calm.wallMs + BACK_MS);
    const lateMs = clock.wallMs() - dueAt;
    if (lateMs > LATE_MS) throw new BrokenInvariant(`${body.name} on ${body.node} was requested ${lateMs} ms late`);
  }

  /** A zone has the rate that its own count requires, and a halted one has none. */
  #checkZone({ body, source }: Message<"judged.zone">): void {
    const { taintsPerSecond, size, notReady } = body;
    const { profile } = this.#context.world.swarm;
    if (notReady > 2 && shareAgainst(body, profile) === 0) this.#context.count("share of exactly the threshold");
    const right = body.halted ? 0 : rateOf(body, profile);
    if (taintsPerSecond === right) return;
    const counted = `${notReady} of ${size} not ready${body.halted ? ", halted" : ""}`;
    throw new BrokenInvariant(
      `${source} grants ${taintsPerSecond}/s, not ${right}/s, in zone ${JSON.stringify(body.zone)} (${counted})`,
    );
  }

  #view(): { clock: World["clock"]; swarm: World["swarm"]; objects: CheckedNode[] } {
    const { world } = this.#context;
    return { clock: world.clock, swarm: world.swarm, objects: world.objects<CheckedNode>("nodes") };
  }

  /** A write that is reported as done is done. */
  #checkDone({ body, source }: Message<"done.write">): void {
    const { world, count, checks } = this.#context;
    if (body.outcome === "refused") count(body.ask === "asked.label" ? "stale record refused" : "stale ask refused");
    if (body.outcome === "unknown") count("write with a lost reply reported as unknown");
    if (body.outcome === "unknown" && body.ask === "asked.eviction") checks.reports.lost(body.uid);
    if (body.outcome !== "ok" || body.change === "") return;
    if (body.kind === "Node") {
      if (this.#versions.has(`${body.name} ${body.resourceVersion}`)) return;
      throw new BrokenInvariant(`${source} reported "${body.change}" of ${body.name} as done, and it is not`);
    }
    const pod = world.api.store.collection("pods").get(body.namespace, body.name);
    if (!body.change.startsWith("deleted") || pod === undefined || pod.uid !== body.uid || pod.terminating) return;
    throw new BrokenInvariant(`${source} reported the deletion of ${body.name} as done, and it is not`);
  }
}

function shardOfPulse(subject: string): string {
  return subject.slice(PULSES.length);
}

function is<T extends MessageType>(message: Message, type: T): message is Message<T> {
  return message.type === type;
}
