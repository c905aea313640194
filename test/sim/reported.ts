/**
 * Whether it is reported to a user. Whenever something that is due is held back, refused or forgotten for longer than a
 * process may need to notice, the explanation of the object says so, in every process that can explain. Of what has no
 * explanation, a policy or a freeze that cannot be read, some process warns. It shares no code with the services but
 * the names of their sentences.
 */
import type { PolicySentenceName, SentenceName } from "../../services/ledger/explain/sentences.ts";
import type { Serving } from "./checks.ts";
import { type GracesOf, mostMs } from "./graces.ts";
import type { Span } from "./heard.ts";
import {
  BrokenInvariant,
  type CheckedNode,
  type CheckedPod,
  conditionOf,
  isPaced,
  type WriteContext,
} from "./invariants.ts";
import { dueAtLatest } from "./oracle.ts";
import { refusedOf } from "./policies/people.ts";
import { SinceWhen } from "./policies/policy-view.ts";
import { isUnhindered } from "./promptness.ts";
import type { World } from "./world.ts";

type Name = SentenceName | PolicySentenceName;

/** What happened to the last request: it was held back, refused or lost, or it is under way. */
const REQUESTS = [
  ...(["requestOpen", "requestWritten", "requestDenied", "requestThrottled", "requestFailed"] as const),
  ...(["requestUnknown", "requestConflict", "requestRefused", "requestGone"] as const),
] satisfies Name[];
/** What a process says that knows no better. */
const UNKNOWING = [
  ...(["nodeBlind", "nodePolicyUnknown", "nodeUnobserved", "nodeUnjudged", "nodeOutdated", "nodeGone"] as const),
  "nodeFoundGone",
] satisfies Name[];

const UNKNOWING_NAMES: ReadonlySet<string> = new Set(UNKNOWING);

/** The states in which something that is due does not happen, and the sentences of which one has to say why. */
const REPORTING = {
  /** A node gives no heartbeat for longer than its grace, and the API shows something else than Unknown. */
  silent: [
    ...UNKNOWING,
    ...REQUESTS,
    ...(["nodeUnknown", "nodeUnknownByStatus", "nodeNeverPosted", "nodeUnknownNoHeartbeat"] as const),
    ...(["leasePathBroken", "nodeLeaseForeign", "nodeLeaseShared"] as const),
  ],
  /** A node is not ready or unknown, and it carries no taint that evicts. */
  untainted: [
    ...UNKNOWING,
    ...REQUESTS,
    ...(["queueHalted", "queueSmallZone", "queueNever", "queueHeld", "queueHeldUntil", "queueFrozen"] as const),
    ...(["queueUnknown", "queueNotShown", "queueMissing", "queuePlace", "queueBehind", "zoneSilent"] as const),
    ...(["nodeDelayed", "nodeFrozen", "nodeFrozenUntil"] as const),
  ],
  /** A pod is on its node although its time is over. */
  overdue: [
    ...REQUESTS,
    ...([
      "nodeBlind",
      "podUnobserved",
      "podUnread",
      "podGone",
      "podTerminating",
      "podUnbound",
      "podCompleted",
    ] as const),
    ...(["podOverdue", "podDueNow", "podComputed", "podComputedNow", "podUnrequested", "podClockBehind"] as const),
    ...(["podFrozen", "podFrozenUntil", "podFrozenDue", "podFrozenStill", "podFreezeAhead"] as const),
    ...(["podPolicyUnknown", "podPaced", "podPacedBehind", "podPacedNever", "podPacedUnleased"] as const),
    ...(["podPacedElsewhere", "podPacedUnknown", "podRecreated", "podMirror", "podUnreadable"] as const),
    ...(["podOutage", "podOutageUndated", "podOutageGrace", "podOutageUnknown", "podOutageUnwritten"] as const),
  ],
} satisfies Record<string, readonly Name[]>;

/** A sentence of an explanation, and what it fills in. */
interface Fact {
  readonly name: string;
  readonly values?: Readonly<Record<string, unknown>>;
}

/** A state that has to be reported to a user. */
type Held = keyof typeof REPORTING;

/** The state of what a process cannot read of policies and freezes. */
const REFUSED = "refused";

/** How often the cluster is looked at. */
const LOOKED_MS = 10_000;
/** How long a process may not know a state, where nothing is slow, and where anything may be. */
const EXACT_MS = 30_000;
const BEHIND_MS = 150_000;

/** The parts of a run in which users ask. */
export interface ReportedRun {
  readonly world: World;
  readonly graces: GracesOf;
  readonly standing: WriteContext["standing"];
  /** The processes that can explain now. */
  readonly explaining: () => readonly Pick<Serving, "name" | "ledger">[];
  /** The processes that follow policies now; null for a run without policies. */
  readonly following: (() => readonly { readonly warnings: ReadonlySet<string> }[]) | null;
  /** Whether no observer showed the cluster for part of a time. */
  readonly wasUnobserved: (span: Span) => boolean;
  /** Whether forged messages name an object, so that a ledger may say anything about it. */
  readonly isForged: (name: string) => boolean;
}

/** Follows the states that has to be reported to a user, and asks. Instants are on the world's wall clock. */
export class Reported {
  readonly #run: ReportedRun;
  readonly #since = new SinceWhen();
  readonly #unknownMs: number;
  /** When each process last said of a silent node that it does not know it, by the process and the node. */
  readonly #unknowingMs = new Map<string, number>();
  #lookedMs = Number.NEGATIVE_INFINITY;
  #disturbedMs = Number.NEGATIVE_INFINITY;
  #problem: string | null = null;

  constructor(run: ReportedRun) {
    const { swarm } = run.world;
    this.#run = run;
    this.#unknownMs = isUnhindered(swarm) ? EXACT_MS : BEHIND_MS;
  }

  /** A process died or started, or its path was cut or repaired. */
  disturbed(): void {
    this.#disturbedMs = this.#nowMs;
  }

  /** Asks about what has been held for long. Throws where no sentence says so. */
  look(): void {
    if (this.#problem !== null) throw new BrokenInvariant(this.#problem);
    const nowMs = this.#nowMs;
    if (nowMs - this.#lookedMs < LOOKED_MS) return;
    this.#lookedMs = nowMs;
    const held = this.#held();
    for (const key of this.#since.keys()) if (!held.has(key)) this.#since.note(key, false, nowMs);
    for (const key of held) {
      this.#since.note(key, true, nowMs);
      const sinceMs = Math.max(this.#since.of(key) ?? nowMs, this.#disturbedMs);
      if (key.startsWith("silent")) this.#noteUnknowing(key);
      if (nowMs - sinceMs > this.#unknownMs) this.#ask(key);
    }
  }

  /** A process that lost its view counts silence from its return: until then it says that it does not know the node. */
  #noteUnknowing(key: string): void {
    for (const { name: process, ledger } of this.#run.explaining()) {
      const facts = ledger?.explainNode(nodeOf(key))?.facts ?? [];
      if (facts.some(({ name }) => UNKNOWING_NAMES.has(name))) this.#unknowingMs.set(`${process} ${key}`, this.#nowMs);
    }
  }

  /** Whether a process may still count the silence of a node: its view may have returned right after it was asked. */
  #mayCount(process: string, key: string): boolean {
    const { swarm } = this.#run.world;
    const unknowingMs = this.#unknowingMs.get(`${process} ${key}`) ?? Number.NEGATIVE_INFINITY;
    return this.#nowMs - unknowingMs <= LOOKED_MS + this.#graceMs(nodeOf(key)) + swarm.profile.pulsePeriodMs;
  }

  #graceMs(node: string): number {
    const all = this.#run.graces(node);
    return Math.max(mostMs(all, "monitorMs"), mostMs(all, "startupMs"));
  }

  get #nowMs(): number {
    return this.#run.world.clock.wallMs();
  }

  /** What is held back, refused or forgotten now. */
  #held(): ReadonlySet<string> {
    const nodes = this.#run.world.objects<CheckedNode>("nodes");
    const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
    const held = new Set([...nodes.flatMap((node) => this.#heldOf(node)), ...this.#refused()]);
    for (const pod of this.#run.world.objects<CheckedPod>("pods")) {
      const node = byName.get(pod.spec.nodeName ?? "");
      if (node !== undefined && this.#isOverdue(pod, node))
        held.add(keyOf("overdue", pod.metadata.name, pod.metadata.uid));
    }
    return held;
  }

  /** What people wrote that has to be refused, where a process follows it. */
  #refused(): string[] {
    const { following, world } = this.#run;
    if (following === null || following().length === 0) return [];
    return refusedOf(world).map((warning) => `${REFUSED} ${warning}`);
  }

  #heldOf(node: CheckedNode): string[] {
    const { world } = this.#run;
    const { name, uid } = node.metadata;
    const status = conditionOf(node, "Ready")?.status;
    const found: string[] = [];
    if (status !== "Unknown" && this.#isSilent(name)) found.push(keyOf("silent", name, uid));
    const isDown = status === "Unknown" || status === "False";
    const isTainted = node.spec?.taints?.some(isPaced) === true;
    if (isDown && !isTainted && world.swarm.profile.evictionMode === "taint") found.push(keyOf("untainted", name, uid));
    return found;
  }

  #isSilent(node: string): boolean {
    const { world } = this.#run;
    // A process that starts gives each node its whole grace (seed 15), and so does each after an outage.
    const outageEnds = world.heard.pauses(this.#nowMs).most.map(([, toAt]) => toAt);
    const fromMs = Math.max(world.signs.lastBy(node, this.#nowMs), this.#disturbedMs, ...outageEnds);
    return world.kubelets.get(node)?.alive === false && this.#nowMs - fromMs > this.#graceMs(node);
  }

  #isOverdue(pod: CheckedPod, node: CheckedNode): boolean {
    const { world, standing } = this.#run;
    if (world.swarm.profile.evictionMode !== "taint" || pod.metadata.deletionTimestamp !== undefined) return false;
    return (node.spec?.taints ?? []).some((taint) => {
      const isDated = taint.effect === "NoExecute" && taint.timeAdded !== undefined;
      const stood = standing(node.metadata.name, taint);
      return isDated && world.apart.ways(pod).every((way) => dueAtLatest(way, taint, stood) < this.#nowMs);
    });
  }

  #ask(key: string): void {
    if (key.startsWith(REFUSED)) {
      this.#expectWarning(key.slice(REFUSED.length + 1));
      return;
    }
    const [state = "", name = ""] = key.split(" ");
    if (!isHeld(state) || this.#run.isForged(name)) return;
    const reporting: readonly string[] = REPORTING[state];
    for (const { name: process, ledger } of this.#run.explaining()) {
      const isReporting = (fact: Fact): boolean => reporting.includes(fact.name) || this.#isAssumedOutage(fact);
      const check = (facts: readonly Fact[] | undefined): void => {
        // An answer that took a while may be about what is over by now.
        if (facts === undefined || facts.some(isReporting) || !this.#held().has(key)) return;
        if (state === "silent" && this.#mayCount(process, key)) return;
        const said = facts.map((fact) => fact.name).join(", ");
        this.#problem ??= `${process} does not say why ${name} is ${state}; it says ${said}`;
      };
      if (state === "overdue") ledger?.explainPod("default", name, (explained) => check(explained?.facts));
      else check(ledger?.explainNode(name)?.facts);
    }
  }

  /** A process that observed nothing for a while cannot know that nodes were heard, and says that it assumes so. */
  #isAssumedOutage({ name, values }: Fact): boolean {
    const [fromAt, toAt] = [values?.from, values?.to].map((time) => Date.parse(String(time)));
    if (name !== "podOutageOver" || fromAt === undefined || toAt === undefined) return false;
    return this.#run.wasUnobserved([fromAt, toAt]);
  }

  #expectWarning(beginning: string): void {
    const followers = this.#run.following?.() ?? [];
    const isWarned = followers.some(({ warnings }) => [...warnings].some((text) => text.startsWith(beginning)));
    if (!isWarned && followers.length > 0) this.#problem ??= `no process warns about ${beginning}`;
  }
}

function nodeOf(key: string): string {
  return key.split(" ")[1] ?? "";
}

function isHeld(state: string): state is Held {
  return Object.hasOwn(REPORTING, state);
}

function keyOf(state: Held, name: string, uid: string): string {
  return `${state} ${name} ${uid}`;
}
