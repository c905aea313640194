/** All checks that run during a simulation, beside those of the writes themselves. */
import type { Message } from "../../protocols/messages.ts";
import type { ServiceName } from "../../protocols/ports.ts";
import type { Change } from "../../services/sandbox/apiserver/store/stored.ts";
import { Compared } from "./compared.ts";
import { Contests } from "./contests.ts";
import { type Explaining, Explanations } from "./explanations.ts";
import { type GracesOf, profileGrace } from "./graces.ts";
import { GrantChecks } from "./grant-checks.ts";
import { BrokenInvariant, type CheckedNode, type CheckedPod, type WriteContext } from "./invariants.ts";
import { NodeStates } from "./node-states.ts";
import { OlderLists } from "./older-lists.ts";
import { HeldPromises } from "./policies/held-promises.ts";
import type { PolicyView } from "./policies/policy-view.ts";
import { Reported } from "./reported.ts";
import { Reports } from "./reports.ts";
import { SilentNodes } from "./silent-nodes.ts";
import { SIMULATED_SERVICES } from "./simulated-services.ts";
import { TolerationClaims } from "./toleration-claims.ts";
import { Verdicts } from "./verdicts.ts";
import { type ViewingProcess, WatchViews } from "./watch-views.ts";
import type { World } from "./world.ts";
import { ZoneClaims } from "./zone-claims.ts";

/** The parts of a process that these checks need. */
export interface Serving extends ViewingProcess, Explaining {
  readonly services: readonly ServiceName[];
  /** What it has warned of, in whichever life. */
  readonly warnings: ReadonlySet<string>;
  /** Whether it runs with an undisturbed path to the API server. */
  readonly isFree: boolean;
}

/** The parts of a run that the checks need. */
export interface CheckedRun {
  readonly world: World;
  readonly processes: () => readonly Serving[];
  /** Whether the only faults are those of the swarm and its plot. */
  readonly isDrawn: boolean;
  /** What the API has shown of policies; absent in a run without them. */
  readonly policies?: PolicyView;
  /** From when a taint on a node counts; absent in tests of other checks. */
  readonly standing?: WriteContext["standing"];
}

/** The checks of one run. */
export class Checks {
  readonly watchViews: WatchViews;
  readonly verdicts: Verdicts;
  readonly zoneClaims: ZoneClaims;
  readonly tolerationClaims = new TolerationClaims();
  readonly grants: GrantChecks;
  readonly reports = new Reports();
  readonly olderLists: OlderLists;
  /** How long nodes may be silent. */
  readonly graces: GracesOf;
  readonly explanations: Explanations;
  readonly #run: CheckedRun;
  readonly #states = new NodeStates();
  readonly #silentNodes: SilentNodes;
  readonly #contests = new Contests();
  readonly #compared: Compared;
  /** Null where people, faults or restarts change when limits end. */
  readonly #promises: HeldPromises | null;
  /** Null where nothing says from when taints count. */
  readonly #reported: Reported | null;
  /** Which processes were free at the last check. */
  #free: readonly string[] = [];

  constructor(run: CheckedRun) {
    const { world, processes, isDrawn, policies } = run;
    const states = this.#states;
    this.#run = run;
    this.watchViews = new WatchViews(world, processes);
    const { watchViews } = this;
    this.olderLists = new OlderLists(world, (member) => watchViews.diedMs(member));
    const all = [profileGrace(world.swarm.profile)];
    const graces: GracesOf = (node, sinceMs) => policies?.graces(node, sinceMs) ?? all;
    this.graces = graces;
    this.verdicts = new Verdicts({ world, states, watchViews, graces, ...(policies !== undefined && { policies }) });
    this.zoneClaims = new ZoneClaims(world, states, this.watchViews);
    this.grants = new GrantChecks({ world, states, isDrawn });
    this.explanations = new Explanations({ ...run, graces });
    const { explanations } = this;
    const { standing } = run;
    const explaining = () => explanations.explaining(processes());
    const isForged = (name: string) => explanations.isForged(name);
    const following = (): readonly Serving[] => explaining().filter(({ services }) => services.includes("policy"));
    this.#reported =
      standing === undefined
        ? null
        : new Reported({
            world,
            graces,
            standing,
            explaining,
            isForged,
            wasUnobserved: (span) => watchViews.unobserved.overlaps(span),
            following: policies === undefined ? null : following,
          });
    this.#silentNodes = new SilentNodes({ world, states, graces, isDrawn });
    const nodes = () => world.objects<CheckedNode>("nodes").map(({ metadata }) => metadata.name);
    const nowMs = () => world.clock.wallMs();
    const isSteady = world.swarm.policies?.theme === "previews";
    this.#promises = isSteady ? new HeldPromises({ nowMs, nodes, explaining }) : null;
    const isReplyLost = (name: string) => explanations.isReplyLost(name);
    this.#compared = new Compared({ nowMs: () => world.clock.monotonicMs(), explaining, isForged, isReplyLost });
  }

  /** The API server went back to an earlier state. */
  restored(): void {
    this.#contests.restored();
  }

  /** Checks a change of a node. */
  node(before: CheckedNode | null, after: CheckedNode, isGone: boolean): void {
    const { writer, clock } = this.#run.world;
    const wallMs = clock.wallMs();
    const was = this.#states.now(after.metadata.name);
    this.#states.note(after, isGone, wallMs);
    this.#silentNodes.nodeChanged();
    const is = this.#states.now(after.metadata.name);
    if (was?.zone !== is?.zone || was?.ready !== is?.ready) this.grants.counted();
    if (was?.ready !== is?.ready || taintsOf(before) !== taintsOf(after)) this.#promises?.changed();
    this.explanations.node(after, isGone);
    if (!isGone) this.#compared.node(before, after, writer);
    if (before !== null && !isGone) this.#contests.node(before, after, { writer, wallMs });
  }

  /** Checks a change of a pod. */
  pod(change: Change): void {
    const { now, before, type } = change;
    this.explanations.pod(change);
    this.tolerationClaims.pod(now);
    const { writer, clock, api } = this.#run.world;
    const isDeleted = type === "DELETED" || (now.terminating && before?.terminating !== true);
    if (isDeleted) this.#compared.podDeleted(now.name, writer);
    if (before === null || type === "DELETED") return;
    const [was, is] = [before, now].map(({ json }) => JSON.parse(json) as CheckedPod);
    const bound = api.store.collection("nodes").get("", is?.spec.nodeName ?? "");
    if (was === undefined || is === undefined || bound === undefined) return;
    const node = JSON.parse(bound.json) as CheckedNode;
    this.#contests.pod(was, is, { node, writer, wallMs: clock.wallMs() });
  }

  /** Records the request for a drain, which in direct mode no taint shows. */
  drain(message: Message<"asked.drain">): void {
    this.grants.drain(message);
    this.#promises?.changed();
  }

  /** A process died or started. */
  disturbed(): void {
    this.grants.disturbed();
    this.#reported?.disturbed();
    this.#silentNodes.disturbed();
  }

  /** Checks what should have happened by now. */
  review(): void {
    const [request] = this.#run.world.wrongRequests;
    if (request !== undefined) throw new BrokenInvariant(request);
    const processes = this.#run.processes();
    const free = processes.filter(({ isFree }) => isFree);
    const names = free.map(({ name }) => name);
    if (names.join() !== this.#free.join()) this.disturbed();
    for (const process of processes)
      if (this.#free.includes(process.name) && !process.isFree) this.#silentNodes.lost(process);
    this.#free = names;
    // Policies have rates and limits of their own.
    if (this.#run.world.swarm.policies === undefined) this.grants.look();
    this.explanations.look();
    this.#reported?.look();
    this.#compared.look();
    this.#promises?.look();
    const isRun = (service: ServiceName): boolean => free.some(({ services }) => services.includes(service));
    this.#silentNodes.look(SIMULATED_SERVICES.every(isRun));
  }
}

/** The taints of a node, for comparison. */
function taintsOf(node: CheckedNode | null): string {
  return JSON.stringify(node?.spec?.taints ?? []);
}
