/** One run: a safety phase with faults, then a calm in which the cluster must recover. It prints nothing. */
import { createHash } from "node:crypto";
import type { AnyMessage } from "../../protocols/messages.ts";
import type { ServiceName, Stop } from "../../protocols/ports.ts";
import { decode, MalformedMessage } from "../../protocols/wire.ts";
import { type ReadableMetrics, uncounted } from "../../services/platform/process/metrics.ts";
import type { Change } from "../../services/sandbox/apiserver/store/stored.ts";
import { chanceOf } from "./chance.ts";
import { Checks } from "./checks.ts";
import { appearanceLagMs, CLOCK_ERROR_MS, calmMaxMs, SILENT_FOR_GOOD_MS } from "./fault-bounds.ts";
import { mostMs } from "./graces.ts";
import type { Pauses } from "./heard.ts";
import {
  BrokenInvariant,
  type CheckedNode,
  type CheckedPod,
  type CheckedTaint,
  type CountdownEnds,
  checkDeletion,
  checkNodeWrite,
  isConditionTaint,
  isPaced,
  turnedUnready,
  type WriteContext,
} from "./invariants.ts";
import { Marks } from "./marks.ts";
import { type Reach, stepOf } from "./meddler.ts";
import { meddle } from "./meddling.ts";
import { heldTooLong } from "./memory.ts";
import { MessageChecks } from "./message-checks.ts";
import { Network } from "./network.ts";
import { NodeHistory } from "./node-history.ts";
import { type Wrong, wrongs } from "./oracle.ts";
import { checkHeard } from "./outage-checks.ts";
import { isQuiet } from "./plots.quiet.ts";
import { PodEdits } from "./pod-edits.ts";
import { PolicyChecks } from "./policies/checks.ts";
import { endAfter } from "./policies/frozen-time.ts";
import { processesOf, type SimulatedProcess } from "./process.ts";
import { Promptness } from "./promptness.ts";
import { Lateness } from "./quiet/lateness.ts";
import { RepeatedDeletions } from "./repeated-deletions.ts";
import type { Crossing } from "./run-description.ts";
import { sealed } from "./sealed.ts";
import { boundsOf } from "./small-bounds.ts";
import { drawSwarm, type Swarm } from "./swarm.ts";
import { setClocksWrong } from "./wall-error.ts";
import { World } from "./world.ts";
import { ZoneRates } from "./zone-rates.ts";

/** One write to the API or one fault, as a description lists it. */
export interface Step {
  readonly atMs: number;
  /** Name of a process of Vigil; "" for the world. */
  readonly writer: string;
  readonly what: string;
}

/** The result of a run. */
export interface Verdict {
  readonly seed: number;
  /** The broken rule or wrong state; null when the run was clean. */
  readonly problem: string | null;
  /** Checksum of every change of nodes and pods: equal seeds must have equal ones. */
  readonly traceHash: string;
  /** How often the run met the situations that it is meant to reach. */
  readonly sometimes: Readonly<Record<string, number>>;
  readonly steps: readonly Step[];
  readonly virtualMs: number;
}

/** The options of a run beside its swarm. */
interface RunOptions {
  /** Called for every message on the network. */
  readonly crossed?: (crossing: Crossing) => void;
  /** A script instead of the swarm's faults. The returned function ends it. */
  readonly meddling?: (reach: Reach) => Stop;
  /** How long the reads before a deletion and the deletion may last together, in milliseconds. */
  readonly roundTripMs?: number;
  /** Creates the registry of each process that starts; without it nothing is counted. */
  readonly createMetrics?: () => ReadableMetrics;
}

const SECOND = 1000;
/** How often a run checks whether an invariant was broken, and a quiet run whether something is late. */
const CHECK_MS = 5 * SECOND;
const QUIET_CHECK_MS = SECOND / 2;
const CALM_STEP_MS = 15 * SECOND;
/** A run always continues this long after the faults ended, because kubelets return meanwhile. */
const AFTERMATH_MS = 45 * SECOND;
/** How long everything must stay right. */
const STAYS_MS = 20 * SECOND;

/**
 * A deletion may cross with the change that would have stopped it: no client can read and delete in one step, and a
 * read is valid for a second.
 */
const ROUND_TRIP_MS = 1_000;

/** The pauses of a countdown that no outage stops. */
const NO_PAUSES: Pauses = { least: [], most: [] };

function textsOf(found: readonly Wrong[]): string[] {
  return found.map(({ text }) => text);
}

/** Runs a seed, or a swarm that was written by hand. */
export function simulate(seed: number, swarm: Swarm = drawSwarm(seed), options: RunOptions = {}): Verdict {
  return sealed(() => new Run(swarm, options).verdict());
}

class Run {
  readonly #swarm: Swarm;
  readonly #meddling: NonNullable<RunOptions["meddling"]>;
  readonly #world: World;
  readonly #network: Network;
  readonly #processes: SimulatedProcess[];
  readonly #hash = createHash("sha256");
  readonly #steps: Step[] = [];
  readonly #marks: Marks;
  readonly #zones: ZoneRates;
  readonly #words: MessageChecks;
  readonly #checks: Checks;
  /** The first broken invariant. */
  #broken: unknown = null;
  readonly #roundTripMs: number;
  readonly #history: NodeHistory;
  readonly #promptness: Promptness;
  readonly #edits: PodEdits;
  readonly #repeats = new RepeatedDeletions();
  /** Null in a run that is not quiet. */
  readonly #lateness: Lateness | null;
  /** Null in a run without node policies. */
  readonly #policies: PolicyChecks | null;

  constructor(swarm: Swarm, options: RunOptions) {
    const { crossed, meddling, roundTripMs = ROUND_TRIP_MS, createMetrics = () => uncounted } = options;
    this.#roundTripMs = roundTripMs;
    this.#meddling = meddling ?? meddle;
    this.#promptness = new Promptness(swarm, meddling !== undefined);
    this.#swarm = swarm;
    this.#world = new World(swarm);
    this.#lateness = isQuiet(swarm) && meddling === undefined ? new Lateness(this.#world) : null;
    const { clock, api } = this.#world;
    this.#history = new NodeHistory(swarm, clock);
    this.#edits = new PodEdits(clock);
    const drawn = (purpose: string) => chanceOf(swarm.seed, purpose);
    this.#network = new Network({ clock, chance: drawn });
    this.#marks = new Marks(this.#world);
    const count = (situation: string): void => this.#marks.count(situation);
    this.#policies = swarm.policies === undefined ? null : new PolicyChecks({ world: this.#world, count });
    this.#world.restored = (kind, change) => {
      this.#checks.restored();
      this.#see(kind, change);
    };
    this.#world.podResent = () => count("pod ready again by its kubelet");
    this.#zones = new ZoneRates(swarm, count);
    const isDrawn = meddling === undefined;
    const policies = this.#policies === null ? {} : { policies: this.#policies.view };
    const standing: WriteContext["standing"] = (node, taint) => this.#around().standing(node, taint);
    this.#checks = new Checks({ world: this.#world, processes: () => this.#processes, isDrawn, standing, ...policies });
    this.#words = new MessageChecks({ world: this.#world, count, history: this.#history, checks: this.#checks });
    this.#words.listen(this.#network);
    this.#network.crossed = (subject, payload, { member }) => {
      this.#guard(() => this.#words.crossed(subject, payload, member));
      const isFollowed = this.#lateness?.follows(subject) === true;
      const message: AnyMessage | MalformedMessage | null =
        crossed === undefined && !isFollowed ? null : (decode(payload) as AnyMessage | MalformedMessage);
      if (message === null || message instanceof MalformedMessage) return;
      if (isFollowed) this.#lateness?.onMessage(message);
      crossed?.({ atMs: clock.monotonicMs(), message });
    };
    const world = {
      clock,
      api,
      network: this.#network,
      profile: { ...swarm.profile, bounds: boundsOf(swarm) },
      hasPolicies: swarm.policies !== undefined || swarm.remembersOutages === true,
      count,
      disturbed: (what: "start" | "death", services: readonly ServiceName[]) => this.#noteDisturbance(what, services),
      chance: drawn,
      createMetrics,
    };
    this.#processes = processesOf(swarm, world);
    if (swarm.faults.has("wrongClocks")) {
      setClocksWrong(this.#processes, [...this.#world.kubelets.values()], drawn("wrongClocks"));
    }
    api.store.collection("nodes").listen((change) => this.#see("node", change));
    api.store.collection("pods").listen((change) => this.#see("pod", change));
    api.store.collection("events").listen((change) => this.#seeEvent(change));
  }

  verdict(): Verdict {
    let problem: string | null = null;
    try {
      problem = this.#run();
    } catch (error) {
      problem = error instanceof BrokenInvariant ? error.message : String(error instanceof Error ? error.stack : error);
    }
    return {
      seed: this.#swarm.seed,
      problem,
      traceHash: this.#hash.digest("hex"),
      sometimes: this.#marks.counts,
      steps: this.#steps,
      virtualMs: this.#world.clock.monotonicMs(),
    };
  }

  #run(): string | null {
    const { clock } = this.#world;
    for (const process of this.#processes) process.start();
    clock.advance(20 * SECOND);
    const reach = { world: this.#world, network: this.#network, processes: this.#processes };
    const count = (situation: string): void => this.#marks.count(situation);
    const struck = (fault: string) => this.#steps.push(stepOf(fault, clock.monotonicMs()));
    const stopMeddling = this.#meddling({ ...reach, count, struck });
    this.#advance(this.#swarm.safetyMs);
    stopMeddling();
    this.#words.calm();
    for (const process of this.#processes) process.start();
    return this.#comeRight();
  }

  /**
   * Lets time pass in the calm until nothing is wrong. Returns what is still wrong at the end. It waits for a pod that
   * would become too late while everything has to stay right: it was late before, so nothing would go wrong again.
   */
  #comeRight(): string | null {
    const boundMs = calmMaxMs(this.#swarm, this.#world.kubelets.size);
    // Silent watches are not repaired, so the first thing to come right is that they are found.
    this.#advance(this.#swarm.faults.has("silentWatches") ? SILENT_FOR_GOOD_MS : AFTERMATH_MS);
    for (let waitedMs = 0; waitedMs < boundMs; waitedMs += CALM_STEP_MS) {
      if (this.#wrongs(STAYS_MS).length === 0) return this.#staysRight();
      this.#advance(CALM_STEP_MS);
    }
    return `not right ${boundMs / SECOND} s after the faults ended: ${this.#wrongs(STAYS_MS).slice(0, 5).join("; ")}`;
  }

  /**
   * What is not right yet in the cluster and in the announcements of its zones' owners, and which pods will be too late
   * in `aheadMs` if they are late already.
   */
  #wrongs(aheadMs = 0): string[] {
    const { standing } = this.#around();
    const slackMs = this.#promptness.slackMs(aheadMs);
    const found = wrongs(this.#world, { slackMs, standing });
    const left = textsOf(this.#lateness?.possible(found) ?? found);
    // Nor can a process announce what it cannot read, and what it cannot write is not what the API shows.
    if (this.#world.lastingFault?.isShown === false) return left;
    left.push(...this.#words.wrongZones());
    return left.length > 0 ? left : this.#words.waitingProcesses();
  }

  #staysRight(): string | null {
    this.#words.settled();
    this.#advance(STAYS_MS);
    const left = this.#wrongs();
    if (left.length > 0) return `was right and went wrong again: ${left.slice(0, 5).join("; ")}`;
    const run = { world: this.#world, processes: this.#processes, advance: (ms: number) => this.#advance(ms) };
    return this.#swarm.plot === "turnover" ? heldTooLong(run) : null;
  }

  #advance(ms: number): void {
    const checkMs = this.#lateness === null ? CHECK_MS : QUIET_CHECK_MS;
    for (let leftMs = ms; leftMs > 0; leftMs -= checkMs) {
      this.#world.clock.advance(Math.min(leftMs, checkMs));
      this.#guard(() => this.#lookForLateness());
      this.#guard(() => this.#checks.review());
      this.#guard(() => this.#policies?.look());
      if (this.#broken !== null) throw this.#broken;
    }
    for (const process of this.#processes) {
      const error = process.errors[0];
      if (error !== undefined) throw new Error(`${process.name}: ${error}`);
    }
  }

  /** Checks that nothing is late in a quiet run. Its fault disturbs for as long as Vigil may not know of it. */
  #lookForLateness(): void {
    if (this.#lateness === null) return;
    if (this.#lateness.isUnknown) this.#noteSlowness();
    const { standing } = this.#around();
    const graceMs = this.#swarm.profile.nodeMonitorGraceMs;
    this.#lateness.look(wrongs(this.#world, { slackMs: 0, graceMs, standing }), this.#processes);
  }

  #noteSlowness(): void {
    this.#promptness.disturbed(this.#world.clock.wallMs());
    this.#checks.disturbed();
  }

  #see(kind: "node" | "pod", change: Change): void {
    const { writer, clock } = this.#world;
    const { type, now, before } = change;
    this.#hash.update(`${clock.monotonicMs()} ${writer} ${type} ${now.json}\n`);
    this.#marks.see(kind, change);
    if (kind === "node") {
      const [was, node] = [before && JSON.parse(before.json), JSON.parse(now.json)];
      const isGone = type === "DELETED";
      this.#history.note(now.name, was, isGone ? null : node);
      this.#words.version(now.name, node.metadata.resourceVersion);
      this.#zones.note(node, isGone, clock.wallMs());
      this.#policies?.node(node, isGone);
      this.#guard(() => this.#checks.node(was, node, isGone));
    } else {
      this.#edits.note(change);
      this.#guard(() => this.#checks.pod(change));
    }
    if (writer === "") return;
    const what = `${type} ${kind} ${now.namespace === "" ? "" : `${now.namespace}/`}${now.name}`;
    this.#steps.push({ atMs: clock.monotonicMs(), writer, what });
    this.#guard(() => {
      if (kind === "node" && before !== null) this.#seeNode(JSON.parse(before.json), JSON.parse(now.json));
      if (kind === "pod" && before !== null) this.#seePod(change);
    });
  }

  #seeEvent({ type, now }: Change): void {
    if (this.#world.writer === "" || type === "DELETED") return;
    this.#guard(() => this.#checks.reports.event(JSON.parse(now.json)));
  }

  /** Keeps an exception of a check for later: Vigil would mistake it for a failing server or bus. */
  #guard(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#broken ??= error;
    }
  }

  #noteDisturbance(what: "start" | "death", services: readonly ServiceName[]): void {
    this.#noteListening(what, services);
    this.#history.disturbed();
    this.#noteSlowness();
    this.#policies?.disturbed();
    if (what === "start") this.#marks.restarted();
  }

  #noteListening(what: "start" | "death", services: readonly ServiceName[]): void {
    const { heard, clock, recordedAt } = this.#world;
    const isHeard = this.#processes.some((process) => process.running && process.services.includes("observer"));
    if (what === "start" && services.includes("observer")) heard.listening(recordedAt, clock.wallMs());
    else if (what === "death" && !isHeard) heard.deaf(clock.wallMs());
  }

  #seeNode(before: CheckedNode, after: CheckedNode): void {
    this.#marks.seeNode(before, after);
    this.#policies?.wrote(before, after);
    checkNodeWrite(before, after, this.#around());
    const isLimitedTaint: typeof isPaced = (taint) =>
      isPaced(taint) || (this.#policies !== null && isConditionTaint(taint));
    const hasLimitedTaint = ({ spec }: CheckedNode): boolean => spec?.taints?.some(isLimitedTaint) === true;
    if (!hasLimitedTaint(after) || hasLimitedTaint(before)) return;
    if (this.#policies !== null) {
      this.#policies.onAdmitted(after);
      return;
    }
    this.#zones.checkGrant(after, this.#around());
    this.#checks.grants.land(after);
  }

  #seePod({ type, now, before }: Change): void {
    const deleted = type === "DELETED" || (now.terminating && before?.terminating === false);
    if (!deleted) {
      this.#marks.count("pod status written");
      const pod = JSON.parse(now.json) as CheckedPod;
      const was = before === null ? null : (JSON.parse(before.json) as CheckedPod);
      if (turnedUnready(was, pod)) this.#policies?.marked(pod.metadata.name, pod.spec.nodeName ?? "");
      return;
    }
    this.#marks.count("pod evicted");
    this.#checks.reports.evicted(now.uid);
    const pod = JSON.parse(now.json) as CheckedPod;
    const node = this.#world.api.store.collection("nodes").get("", pod.spec.nodeName ?? "");
    this.#policies?.evicted(pod.spec.nodeName ?? "");
    const sinceMs = this.#world.clock.wallMs() - this.#history.evictableAt(pod.spec.nodeName ?? "");
    if (sinceMs <= this.#roundTripMs + this.#around().delayMaxMs) {
      this.#marks.count("node recovered within the round trip of a deletion");
      return;
    }
    const shown = node === undefined ? null : (JSON.parse(node.json) as CheckedNode);
    this.#policies?.deleted(pod.metadata.name, pod.spec.nodeName ?? "");
    this.#repeats.deleted(pod, this.#world.clock.wallMs());
    const readAgeMs = this.#roundTripMs + this.#around().delayMaxMs;
    if (shown !== null) checkHeard(pod, shown, this.#world.heard, { ...this.#around(), readAgeMs });
    const around = this.#around();
    this.#edits.check(pod, (read) => this.#world.apart.check(read, (way) => checkDeletion(way, shown, around)));
    if (shown !== null && this.#policies?.mayDelay(pod.spec.nodeName ?? "") !== true)
      this.#promptness.check(pod, shown, this.#around());
  }

  #around(): WriteContext {
    const { clock, signs, writer } = this.#world;
    const delayMaxMs = this.#processes.find(({ name }) => name === writer)?.delayMaxMs ?? 0;
    return {
      delayMaxMs,
      swarm: this.#swarm,
      wallMs: clock.wallMs(),
      skewMs: (this.#policies?.skewMs ?? CLOCK_ERROR_MS) + appearanceLagMs(this.#swarm),
      heartbeatAt: (node, byMs) => signs.lastBy(node, byMs),
      graces: this.#checks.graces,
      standing: (node, taint) => {
        const standing = this.#history.standing(node, taint);
        const frozen = this.#ends(node, taint);
        return frozen === null ? standing : { ...standing, frozen };
      },
    };
  }

  /** When countdowns by a taint end that are frozen in freezes and outages; null where nothing freezes them. */
  #ends(node: string, taint: Pick<CheckedTaint, "key" | "effect">): CountdownEnds | null {
    const { heard, clock } = this.#world;
    const pauses = isPaced(taint) ? heard.pauses(clock.wallMs()) : NO_PAUSES;
    if (this.#policies === null && pauses.most.length === 0) return null;
    const ends = this.#policies?.ends(node, pauses) ?? {
      least: (startAt, ms) => endAfter(startAt, ms, pauses.least),
      most: (startAt, ms) => endAfter(startAt, ms, pauses.most),
    };
    const graces = this.#checks.graces(node, 0);
    return heard.withGrace(ends, pauses, Math.max(mostMs(graces, "monitorMs"), mostMs(graces, "startupMs")));
  }
}
