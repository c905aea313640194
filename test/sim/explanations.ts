/**
 * Requests explanations of nodes and pods from processes during a run, and of everything once the cluster is calm. Each
 * sentence about the present must be true of the cluster.
 */

import type { ExplainedFact, FactualExplanation, LedgerReader } from "../../protocols/ledger-reader.ts";
import type { AnyMessage } from "../../protocols/messages.ts";
import type { Change } from "../../services/sandbox/apiserver/store/stored.ts";
import type { Interruption } from "./api-path.ts";
import { type Claim, isTrue, type ZoneNow } from "./explained-claims.ts";
import { namesProblem } from "./explained-names.ts";
import { type ExplainedPod, ExplainedTruth, noExecuteNames } from "./explained-truth.ts";
import { type GracesOf, leastMs } from "./graces.ts";
import { BrokenInvariant, type CheckedNode, conditionOf } from "./invariants.ts";
import { LostTime } from "./lost-time.ts";
import type { PolicyView } from "./policies/policy-view.ts";
import type { World } from "./world.ts";
import { countsOf, placeOf, rateStatesOf } from "./zone-rates.ts";

/** A process that may explain. */
export interface Explaining {
  readonly name: string;
  /** Its ledger; null while the process is dead or runs none. */
  readonly ledger: LedgerReader | null;
  readonly isFree: boolean;
  /** The time that has passed by its own clock, which may have been suspended. */
  readonly ownMs: number;
  /** Its last stop; null before. */
  readonly lastPause: Interruption | null;
}

/** The parts of a run that explanations need. */
export interface ExplanationsRun {
  readonly world: World;
  readonly processes: () => readonly Explaining[];
  readonly graces: GracesOf;
  /** What the API has shown of policies; absent in a run without them. */
  readonly policies?: PolicyView;
}

/** The object to explain, and when the explanation was requested on the world's wall clock. */
interface Asked {
  readonly node: string;
  /** "" for an explanation of the node. */
  readonly pod: string;
  readonly askedMs: number;
}

/** How often one process explains while things fail. */
const ASKED_MS = 30_000;
/** How many pods it explains then. */
const PODS_ASKED = 4;
/**
 * A pod with the name of an earlier one is explained this soon after its creation. For a moment nothing about it has
 * been published, and the record of the earlier pod is still there.
 */
const NAMESAKE_ASKED_MS = 1;
/** A process that is not blind may be this far behind while things fail: a watch may be stale for a minute. */
const BEHIND_MS = 150_000;
/** The same in the calm. */
const CALM_BEHIND_MS = 30_000;
/**
 * Sentences of a process that still waits for a resync: its zones publish with the next pulse, and a node's owner
 * repeats within a minute that the node waits, if it does, and judges it again.
 */
const WAITING: ReadonlySet<string> = new Set([
  "nodeUnobserved",
  "nodeOutdated",
  "nodeBlind",
  "zoneSilent",
  "queueMissing",
]);
/** The sentences that say since when something is overdue. */
const OVERDUE: ReadonlySet<string> = new Set(["podOverdue", "drainOverdue"]);
/** A read is valid for half a second, and its answer may be under way for as long as a client waits. */
const READ_MS = 1_500;
/** How much earlier than a heartbeat a process may date it: clocks drift. */
const HEARTBEAT_SLACK_MS = 75_000;
/** How long after a heartbeat a process may first receive it: when the API server can be reached again. */
const HEARTBEAT_UNSEEN_MS = 600_000;
/** A process that was suspended explains again after this. */
const RECOVERED_MS = 60_000;

/** Checks the explanations of every process. Instants are on the world's wall clock. */
export class Explanations {
  readonly #run: ExplanationsRun;
  readonly #truth = new ExplainedTruth();
  /** The time that clocks have lost since a node was tainted. */
  readonly #lost: LostTime;
  /** The nodes and pods that forged messages name. */
  readonly #forged = new Set<string>();
  /** The uid of the last pod with each name. */
  readonly #uids = new Map<string, string>();
  /** The first false sentence. */
  #problem: string | null = null;
  #askedMs = 0;
  #turns = 0;
  #isCalm = false;

  constructor(run: ExplanationsRun) {
    this.#run = run;
    this.#lost = new LostTime(run);
  }

  /** Records a change of a node. */
  node(node: CheckedNode, isGone: boolean): void {
    const { name } = node.metadata;
    this.#truth.nodes.note(name, this.#nowMs, isGone ? null : node);
    if (isGone || noExecuteNames(node).length === 0) this.#lost.untainted(name);
    else this.#lost.tainted(name);
  }

  /** Records a change of a pod. */
  pod({ now, type }: Change): void {
    const pod = JSON.parse(now.json) as ExplainedPod;
    const isGone = type === "DELETED";
    this.#truth.pods.note(now.name, this.#nowMs, isGone ? null : pod);
    if ((isGone || now.terminating) && this.#run.world.writer !== "") this.#truth.deletedByVigil(now.name, now.uid);
    const uid = this.#uids.get(now.name);
    this.#uids.set(now.name, now.uid);
    if (uid === undefined || uid === now.uid) return;
    this.#run.world.clock.after(NAMESAKE_ASKED_MS, () => this.#askNext([now.name]));
  }

  /** Whether a writer has published that the reply to a write of this object was lost. */
  isReplyLost(name: string): boolean {
    return this.#truth.outcomes.has(`${name} unknown`);
  }

  /** Records a request or its outcome. */
  hear(message: AnyMessage): void {
    const { type, body } = message;
    if (type === "done.write") this.#truth.outcomes.add(`${body.name} ${body.outcome}`);
    else this.#truth.requested.add(nameIn(message));
  }

  /**
   * Records a message from a stolen seed. Ledgers receive it as one of Vigil's, so they may report anything about the
   * objects that it names.
   */
  hearForged(message: AnyMessage): void {
    this.#forged.add(nameIn(message));
  }

  /** Lets a process explain now and then. Throws for a false sentence. */
  look(): void {
    if (this.#problem !== null) throw new BrokenInvariant(this.#problem);
    const nowMs = this.#run.world.clock.monotonicMs();
    if (this.#isCalm || nowMs - this.#askedMs < ASKED_MS) return;
    this.#askedMs = nowMs;
    const pods = this.#run.world.api.store.collection("pods").sorted("");
    const picked = Array.from({ length: Math.min(PODS_ASKED, pods.length) }, (_, index) => {
      return pods[((this.#turns + 1) * 7 + index * 13) % pods.length]?.name ?? "";
    });
    this.#askNext(picked, this.#nodes);
  }

  /** The processes without a complete view: blind to a node, without the state of its zone, or without a judgement. */
  waitingProcesses(): string[] {
    const isWaiting = ({ ledger }: Explaining, node: string): boolean => {
      const explained = ledger?.explainNode(node);
      // A ledger that has just started knows nothing of a node that it has not observed yet.
      if (explained === null) return true;
      return (explained?.facts ?? []).some((fact) => WAITING.has(fact.name));
    };
    return this.#run
      .processes()
      .filter((process) => process.isFree && this.#nodes.some((node) => isWaiting(process, node)))
      .map(({ name }) => `${name} has no whole view`);
  }

  /** In the calm every process explains everything, and every sentence must be true. */
  settled(): void {
    this.#isCalm = true;
    const pods = this.#run.world.api.store.collection("pods").sorted("");
    for (const process of this.#run.processes()) {
      if (!process.isFree) continue;
      this.#askNodes(process, this.#nodes);
      this.#askPods(
        process,
        pods.map(({ name }) => name),
      );
    }
  }

  get #nodes(): readonly string[] {
    return this.#run.world.objects<CheckedNode>("nodes").map(({ metadata }) => metadata.name);
  }

  get #nowMs(): number {
    return this.#run.world.clock.wallMs();
  }

  /** The processes that can explain now; none in the calm, in which everything has been explained. */
  explaining<T extends Explaining>(processes: readonly T[]): readonly T[] {
    return this.#isCalm ? [] : processes.filter((process) => this.#canExplain(process));
  }

  /** Whether forged messages name an object. */
  isForged(name: string): boolean {
    return this.#forged.has(name);
  }

  #canExplain({ ledger, isFree, lastPause }: Explaining): boolean {
    const endedMs = lastPause?.endedMs ?? Number.NEGATIVE_INFINITY;
    return ledger !== null && isFree && this.#run.world.clock.monotonicMs() - endedMs > RECOVERED_MS;
  }

  /** The processes that can explain, one after the other. */
  #askNext(pods: readonly string[], nodes: readonly string[] = []): void {
    if (this.#isCalm) return;
    const ready = this.#run.processes().filter((process) => this.#canExplain(process));
    const process = ready[this.#turns++ % Math.max(1, ready.length)];
    if (process === undefined) return;
    this.#askNodes(process, nodes);
    this.#askPods(process, pods);
  }

  #askNodes({ name: process, ledger }: Explaining, nodes: readonly string[]): void {
    for (const node of nodes) {
      this.#check(process, ledger?.explainNode(node) ?? null, { node, pod: "", askedMs: this.#nowMs });
    }
  }

  #askPods({ name: process, ledger }: Explaining, pods: readonly string[]): void {
    for (const pod of pods) {
      const askedMs = this.#nowMs;
      const stored = this.#run.world.api.store.collection("pods").get("default", pod);
      const node = stored === undefined ? "" : ((JSON.parse(stored.json) as ExplainedPod).spec.nodeName ?? "");
      ledger?.explainPod("default", pod, (explained) => this.#check(process, explained, { node, pod, askedMs }));
    }
  }

  /** Checks an explanation. A sentence that names no node is about the node named before it. */
  #check(process: string, explained: FactualExplanation | null, asked: Asked): void {
    if (explained === null || this.#forged.has(asked.pod)) return;
    const unnamed = namesProblem(explained, new Set([...this.#nodes, `default/${asked.pod}`]));
    if (unnamed !== null) this.#problem ??= `${process} explains ${asked.pod || asked.node}: ${unnamed}`;
    const { facts, sentences } = explained;
    if (this.#run.world.lastingFault?.isShown === false) return;
    // A blind process describes an earlier time, which its sentences state.
    if (!this.#isCalm && facts.some(({ name }) => name === "nodeBlind")) return;
    // What is known of an earlier pod of the name may be as old as its record, and its node may be gone since.
    const isLastKnown = facts.some(({ name }) => name === "podLastKnown");
    const podSinceMs = isLastKnown ? Number.NEGATIVE_INFINITY : asked.askedMs - READ_MS;
    const dueText = facts.find(({ name }) => OVERDUE.has(name))?.values.at;
    const overdueMs = dueText === undefined ? 0 : asked.askedMs - Date.parse(dueText);
    let node = facts.find(({ values }) => values.node)?.values.node ?? asked.node;
    for (const [index, fact] of facts.entries()) {
      node = fact.values.node ?? node;
      if (this.#forged.has(node)) continue;
      if (isTrue(this.#claim(fact, { ...asked, node, podSinceMs, overdueMs }))) continue;
      this.#problem ??= `${process} explains ${asked.pod || asked.node}: "${sentences[index]}" is not so (${fact.name})`;
    }
  }

  #claim(fact: ExplainedFact, { askedMs, ...asked }: Asked & Pick<Claim, "podSinceMs" | "overdueMs">): Claim {
    const sinceMs = askedMs - this.#behindMs;
    return {
      ...fact,
      ...asked,
      nodeSinceMs: Math.min(sinceMs, asked.podSinceMs),
      truth: this.#truth,
      isSilent: (name) => this.#isSilent(name, sinceMs),
      wasAlive: (name, atMs) => this.#wasAlive(name, atMs),
      zone: () => this.#zoneOf(asked.node),
      lostMs: this.#lost.sinceTaintMs(asked.node),
      isDirect: this.#run.world.swarm.profile.evictionMode === "direct",
      isComparing: this.#run.world.swarm.profile.tolerationComparisonOperators,
      ways: (pod) => this.#run.world.apart.ways(pod),
      ...(this.#run.policies !== undefined && { policies: this.#run.policies }),
      isCalm: this.#isCalm,
      isBehind: (this.#run.world.lastingFault?.lagMs ?? 0) > 0,
    };
  }

  /** How far behind a process may be that is not blind. */
  get #behindMs(): number {
    return this.#isCalm ? CALM_BEHIND_MS : BEHIND_MS;
  }

  /** Whether a node gave a heartbeat that a process may have received first at an instant on its clock. */
  #wasAlive(name: string, atMs: number): boolean {
    const { signs } = this.#run.world;
    // A process that was suspended dates unread messages by when it reads them.
    const stoodMs = Math.max(0, ...this.#run.processes().map(({ lastPause }) => lastPause?.lastedMs ?? 0));
    return signs.lastBy(name, atMs + HEARTBEAT_SLACK_MS) >= atMs - HEARTBEAT_UNSEEN_MS - stoodMs;
  }

  #zoneOf(name: string): ZoneNow | null {
    const { world } = this.#run;
    const objects = world.objects<CheckedNode>("nodes");
    const node = objects.find(({ metadata }) => metadata.name === name);
    if (node === undefined) return null;
    const { zone } = placeOf(node);
    const count = countsOf(objects.map(placeOf)).get(zone);
    return count === undefined ? null : { ...count, state: rateStatesOf(objects, world.swarm).get(zone) ?? "running" };
  }

  /** Whether a node has been without a heartbeat for its grace at some time since an instant. */
  #isSilent(name: string, sinceMs: number): boolean {
    const { signs } = this.#run.world;
    const graces = this.#run.graces(name, sinceMs);
    const graceMs = Math.min(leastMs(graces, "monitorMs"), leastMs(graces, "startupMs"));
    const isPosted = this.#truth.nodes.since(name, sinceMs).some((node) => node && conditionOf(node, "Ready"));
    if (!isPosted) return true;
    for (let atMs = sinceMs; atMs <= this.#nowMs; atMs += 5_000) {
      if (atMs - signs.lastBy(name, atMs) > graceMs * 0.9) return true;
    }
    return this.#nowMs - signs.lastBy(name, this.#nowMs) > graceMs * 0.9;
  }
}

/** The node or pod that a message names; "" for none. */
function nameIn({ body }: AnyMessage): string {
  if ("namespace" in body) return body.name;
  return "node" in body ? body.node : "";
}
