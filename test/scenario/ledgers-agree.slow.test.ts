/** A ledger that started late, or was cut off meanwhile, says the same as one that was there from the start. */
import { describe, expect, test } from "vitest";
import type { LedgerReader } from "../../protocols/ledger-reader.ts";
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import type { Toleration } from "../../protocols/objects.ts";
import type { Random, Stop } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { downProofText } from "../../services/domain/down-proof.ts";
import { startLedger } from "../../services/ledger/ledger.service.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { proofMetadata } from "../../services/platform/kube/proof-seal.ts";
import { PolicyReceiver } from "../../services/platform/node-policies/policy-receiver.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { cuttable } from "../support/cuttable-transport.ts";
import { UNREACHABLE } from "../support/eviction-world.ts";
import { ExplainedWorld } from "../support/explained-world.ts";
import { seededRandom } from "../support/random.seeded.ts";

const S = 1000;
const BAD = "vigil.io/bad";
const ZONES = ["a", "b", "c"];

/** How long the protocol takes to repair what a ledger missed: its last requests come after the longest retry. */
const REPAIRED_MS = 240 * S;

/**
 * What differs by the past that a ledger has seen, and not by the present state. One that saw no deletion by Vigil says
 * what the pod's condition says of it.
 */
const OF_THE_PAST =
  /^Vigil deleted it at |^Its condition DisruptionTarget says DeletionByTaintManager|no longer exists\.$/;

/** What a policy may set; each seed draws some of it for the nodes of each zone. */
const FIELDS: readonly Omit<NodePolicySpec, "selector">[] = [
  { nodeMonitorGracePeriod: "20s" },
  { nodeEvictionRate: 0.02 },
  { maxUnhealthy: 1 },
  { circuitBreaker: { maxNodes: 1, duration: "2m", resetAfter: "1m" }, stormCooldownDuration: "1m" },
  { healthyDelay: "2m" },
  { flapping: { transitions: 2, window: "10m", holdDown: "5m" } },
  {
    unhealthyConditions: [
      { type: "Bad", status: "True", duration: "1m", taint: { key: BAD, effect: "NoExecute" as "NoSchedule" } },
    ],
  },
  { maintenance: { hold: ["DrainInProgress"], atMost: "5m" } },
  { evictions: { maxPerMinute: 1 } },
  { evictions: { maxPerMinute: 0 } },
  { budgets: [{ nodes: "1" }] },
  { outOfService: { after: "1m", proof: ["Manual"] } },
];

/** The tolerations of the pods of a node: of admission, and short and long ones. */
const TOLERATED_SECONDS = [300, 30, 3000];

interface LinkedLedger {
  readonly reader: LedgerReader;
  readonly cut: () => Stop;
}

/** Fifteen nodes in three zones, each zone with a policy, and what happens to them. */
class AgreeingWorld extends ExplainedWorld {
  readonly #random: Random;
  readonly #nodes: readonly string[];
  readonly #pods: string[] = [];

  constructor(seed: string, profile: Partial<Profile>) {
    const random = seededRandom(seed);
    const policies = ZONES.map((zone) => {
      const selector = { matchLabels: { "topology.kubernetes.io/zone": zone } };
      const drawn = FIELDS.filter(() => random() < 0.4);
      return { name: `pool-${zone}`, spec: Object.assign({ selector }, ...drawn) as NodePolicySpec };
    });
    super(policies, profile);
    this.#random = random;
    this.#nodes = ZONES.flatMap((zone) => this.addZone(zone, 5));
    for (const node of this.#nodes) {
      for (const seconds of TOLERATED_SECONDS) this.#addPod(node, seconds);
    }
    this.run();
    this.advance(40 * S);
  }

  /** Starts a ledger with a link of its own. */
  ledger(member: string): LinkedLedger {
    const { transport, cut } = cuttable(this.transport);
    const io = { clock: this.clock, log: silentLog, metrics: createMetrics() };
    const bus = typedBus({
      ...io,
      transport,
      cluster: "test",
      service: "policies",
      member,
      mailboxMessagesMax: 10_000,
    });
    let reader: LedgerReader | null = null;
    const ledger = (ledgerIo: Parameters<typeof startLedger>[0]) => {
      const started = startLedger(ledgerIo);
      reader = started.reader;
      return started.stop;
    };
    this.start({ ledger }, { member, policies: new PolicyReceiver({ bus, ...io }), transport });
    if (reader === null) throw new Error("the ledger has not started");
    return { reader, cut };
  }

  /** Lets so many things happen, one after the other within half a minute. */
  happen(count: number): void {
    for (let index = 0; index < count; index++) {
      this.#happen();
      this.advance(Math.floor(this.#random() * 30) * S);
    }
  }

  /** Whatever a ledger shows of the present state. */
  shown(reader: LedgerReader): Record<string, unknown> {
    const { nodes, zones, pendingEvictions } = reader.overview();
    const policies = reader.policies() ?? [];
    const isSilent = (readiness: string): boolean => readiness === "unknown";
    return Object.fromEntries([
      ["overview", { nodes, pendingEvictions }],
      ...this.#nodes.map((name) => [`node ${name}`, reader.explainNode(name)?.sentences]),
      ...this.#pods.map((name) => [`pod ${name}`, this.#sentencesOf(reader, name)]),
      ...zones.map((zone) => [`zone ${zone.title}`, [zone, reader.explainZone(zone.title)?.sentences]]),
      ...policies.map((policy) => [`policy ${policy.name}`, [policy, reader.explainPolicy(policy.name)?.sentences]]),
      ...reader.nodes().map((node) => {
        // Each ledger has its own last heartbeat of a node that lives.
        return [`listed node ${node.name}`, isSilent(node.readiness) ? node : { ...node, heartbeatAt: null }];
      }),
      ...reader.pendingEvictions(1000).map((pod) => [`listed pod ${pod.name}`, pod]),
    ]);
  }

  #sentencesOf(reader: LedgerReader, name: string): readonly string[] {
    let sentences: readonly string[] = [];
    reader.explainPod("default", name, (explained) => {
      sentences = explained?.sentences ?? [];
    });
    this.advance(0);
    return sentences.filter((text) => !OF_THE_PAST.test(text));
  }

  #addPod(node: string, tolerationSeconds: number): void {
    const name = `${node}-${tolerationSeconds}`;
    const tolerations = [UNREACHABLE, BAD].map((key): Toleration => {
      return { key, operator: "Exists", effect: "NoExecute", tolerationSeconds };
    });
    this.addTolerantPod(node, name, tolerations);
    this.#pods.push(name);
  }

  #pick<T>(...of: readonly T[]): T {
    const [picked] = of.slice(Math.floor(this.#random() * of.length));
    if (picked === undefined) throw new Error("there is nothing to pick");
    return picked;
  }

  #happen(): void {
    const node = this.#pick(...this.#nodes);
    const maintained = [{ key: "example.com/maintenance", effect: "NoExecute" }];
    this.#pick(
      () => this.silence([node]),
      () => this.silence([node]),
      () => this.revive([node]),
      () => this.kubelet(node).report("Ready", this.#pick("False", "True")),
      () => this.kubelet(node).report("Bad", this.#pick("True", "False")),
      () => this.kubelet(node).report("DrainInProgress", this.#pick("True", "False")),
      () => this.#freeze(),
      () => this.#prove(node),
      () => this.taint(node, this.#pick([], maintained)),
      () => this.#removeAnyPod(),
    )();
  }

  /** Freezes all nodes or those of a policy, now or soon, with an end or without; or thaws all. */
  #freeze(): void {
    const since = this.at(this.#pick(0, 60 * S));
    const until = this.#pick({}, { until: this.at(this.#pick(100, 600) * S) });
    const policy = this.#pick({}, { policy: `pool-${this.#pick("a", "b", "c")}` });
    this.request(...this.#pick([], [{ name: "alice", since, ...until, ...policy }]));
  }

  #prove(name: string): void {
    const proof = { proof: "Manual", by: "oncall", at: this.clock.wallMs(), reason: "power off" } as const;
    this.patch({ kind: "Node", namespace: "", name }, { metadata: proofMetadata(downProofText(proof)) });
  }

  #removeAnyPod(): void {
    const name = this.#pick(...this.#pods);
    if (this.read({ kind: "Pod", namespace: "default", name }) !== null) this.removePod(name);
  }
}

/** What the ledgers say once they had the time to repair what they missed. */
function saidBy(seed: string, profile: Partial<Profile>) {
  const world = new AgreeingWorld(seed, profile);
  const interrupted = world.ledger("interrupted");
  world.happen(8);
  for (let times = 0; times < 3; times++) {
    const restore = interrupted.cut();
    world.happen(4);
    restore();
    world.happen(2);
  }
  const restore = interrupted.cut();
  world.happen(4);
  restore();
  world.advance(REPAIRED_MS);
  const first = world.shown(world.reader);
  const cut = world.shown(interrupted.reader);
  const late = world.ledger("late");
  world.advance(60 * S);
  return { first, cut, afterwards: world.shown(world.reader), late: world.shown(late.reader) };
}

describe.each(["taint", "direct"])("in %s mode", (evictionMode) => {
  test.each(["2", "3", "4"])("three ledgers agree, seed %s", (seed) => {
    const { first, cut, afterwards, late } = saidBy(seed, { evictionMode, podEvictionTimeoutMs: 60 * S });
    expect(cut).toEqual(first);
    expect(late).toEqual(afterwards);
  });
});
