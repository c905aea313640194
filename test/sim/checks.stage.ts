/** The stage for tests of the checks: a fleet of two processes in a world without faults. */
import type { BodyOf, Message, MessageType } from "../../protocols/messages.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { Checks } from "./checks.ts";
import type { CheckedNode } from "./invariants.ts";
import { drawSwarm } from "./swarm.ts";
import { World } from "./world.ts";

/** A second, in milliseconds. */
export const S = 1000;

/** A fleet of two processes in a world without faults, and nodes that a test reports to the checks by hand. */
export class Stage {
  readonly world: World;
  readonly checks: Checks;
  /** The past of the process. */
  readonly process = {
    name: "p1",
    ownMs: 0,
    services: ["node"] as const,
    isFree: true,
    lastStop: null,
    lastPause: null,
    lastAbsence: null,
    lastDeathMs: Number.NEGATIVE_INFINITY,
    ledger: null,
    lastSilence: null,
    warnings: new Set<string>(),
  };
  /** Another process, which observes. */
  readonly observer = { ...this.process, name: "p2" };

  constructor() {
    const { plot: _, hindrance: __, ...drawn } = drawSwarm(1);
    const profile = { ...STANDARD_PROFILE, nodeEvictionsPerSecond: 0.5 };
    this.world = new World({ ...drawn, plot: null, zones: [], faults: new Set(), profile });
    this.checks = new Checks({
      world: this.world,
      processes: () => [this.process, this.observer],
      isDrawn: true,
    });
  }

  pass(ms: number): void {
    this.world.clock.advance(ms);
  }

  /** Binds a pod to a node; no DaemonSet owns it. */
  bind(node: string): void {
    const name = `pod-${node}`;
    this.world.addPod(node, name);
    this.world.edit("pods", name, (pod) => ({ ...pod, metadata: { ...pod.metadata, ownerReferences: [] } }));
  }

  show(name: string, ready: string, taintKeys: readonly string[] = []): CheckedNode {
    const before = this.#shown.get(name) ?? null;
    const taints = taintKeys.map((key) => ({ key, effect: "NoExecute" }));
    const status = { conditions: [{ type: "Ready", status: ready }] };
    const after = { metadata: { name, uid: `uid-${name}` }, spec: { taints }, status };
    this.#shown.set(name, after);
    this.checks.node(before, after, false);
    return after;
  }

  renew(name: string): void {
    this.world.signs.note(name, "lease", this.world.clock.wallMs());
  }

  findUnknown(name: string): () => void {
    const unknown = { type: "Ready", status: "Unknown" as const, reason: "", message: "", heartbeatAt: null };
    const basis = { leaseRenewedAt: null, statusHeartbeatAt: null };
    const body = { node: name, uid: `uid-${name}`, resourceVersion: "1", basis, conditions: [unknown] };
    return () => this.checks.verdicts.check(message("asked.condition", body), "p1", "0");
  }

  announce(size: number, notReady: number, halted = false): Message<"judged.zone"> {
    const state = { taintsPerSecond: 0, tokens: 0, queueLength: 0 };
    return message("judged.zone", { zone: "", state: "Normal" as const, since: 0, size, notReady, halted, ...state });
  }

  grant(name: string): () => void {
    const seen = { node: name, uid: `uid-${name}`, resourceVersion: "1", taints: [], add: [], remove: [] };
    return () => this.checks.grants.ask(message("asked.taint", { ...seen, ready: "Unknown", why: "granted" }));
  }

  readonly #shown = new Map<string, CheckedNode>();
}

/** A message of a type, from the first process. */
export function message<T extends MessageType>(type: T, body: BodyOf<T>): Message<T> {
  return { type, id: "p1", source: "p1", at: 0, cause: null, body };
}
