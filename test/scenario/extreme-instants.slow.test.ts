/**
 * Instants of long ago, of the year 9999 and of clocks that are off, wherever the API may have them, in a random order
 * with failures and restarts: Vigil publishes nothing malformed, and no actor fails.
 */
import { expect, test } from "vitest";
import { Annotation } from "../../protocols/names.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { EVICTING, EvictionWorld, NOT_READY, UNREACHABLE } from "../support/eviction-world.ts";
import { HandPolicies } from "../support/hand-policies.ts";
import { seededRandom } from "../support/random.seeded.ts";

const S = 1000;
const STEPS = 60;
const NODES = ["a-0", "a-1"] as const;
const KEYS = [NOT_READY, UNREACHABLE, "x"] as const;
const SECONDS = [0, -1, 300, 2 ** 53, 221_845_392_000, 100_000_000_000] as const;
const FIXED = ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "9999-12-31T23:59:00Z"] as const;
const OFF_MS = [-60 * S, -5 * S, 0, 86_400 * S] as const;
const CONDITIONS = ["Ready", "KernelDeadlock", "MaintenanceInProgress", "MemoryPressure"] as const;

type Pick = <T>(list: readonly T[]) => T;

function fourFrom(instant: string): string[] {
  return [0, 1, 2, 3].map((index) => apiTime(Date.parse(instant) + index * 5 * S));
}

/** Every record that Vigil keeps in the annotations of a node, with some instants. */
function recordsAt(time: () => string): Readonly<Record<string, unknown>> {
  const hold = { type: "MaintenanceInProgress", from: time(), to: time() };
  return {
    [Annotation.readyTransitions]: fourFrom(time()),
    [Annotation.holds]: [hold],
    [Annotation.conditions]: { KernelDeadlock: { status: "True", since: time(), transition: time() } },
    [Annotation.taintsSeen]: { "x:NoExecute": time(), [`${UNREACHABLE}:NoExecute`]: time() },
    [Annotation.taintSwap]: { timeAdded: time(), first: { key: NOT_READY, since: time() }, second: { since: time() } },
    [Annotation.provedDown]: { proof: "Manual", by: "oncall", at: time(), reason: "" },
  };
}

/** Two zones under one process and a policy with every field that counts time. */
class ExtremeWorld extends EvictionWorld {
  readonly #pick: Pick;
  readonly #policies: HandPolicies;
  #process: ReturnType<EvictionWorld["start"]>;
  readonly #logs: ReturnType<EvictionWorld["start"]>["log"][] = [];

  constructor(pick: Pick) {
    super({ nodeEvictionsPerSecond: 1, evictionMode: pick(["taint", "taint", "direct"] as const) });
    this.#pick = pick;
    const taint = { key: "vigil.io/deadlock", effect: pick(["NoSchedule", "NoExecute"] as const) };
    this.#policies = new HandPolicies({
      flapping: { transitions: 3, window: "10m", holdDown: "10m" },
      healthyDelay: "1m",
      unhealthyDelay: "30s",
      maintenance: { hold: ["MaintenanceInProgress"], atMost: "4h" },
      unhealthyConditions: [{ type: "KernelDeadlock", status: "True", duration: "1m", taint }],
      outOfService: { after: "3m", proof: ["Manual"] },
    });
    this.addZone("a", 3);
    this.addZone("c", 3);
    this.#process = this.#begin();
    this.advance(10 * S);
    for (const node of NODES)
      this.addTolerantPod(
        node,
        `pod-${node}`,
        KEYS.map((key) => this.#toleration(key)),
      );
  }

  /** What was malformed, and what failed. */
  get problems(): readonly unknown[] {
    const isProblem = (level: string, message: string) =>
      level === "error" || /dropped|malformed|not sent/.test(message);
    return this.#logs.flatMap(({ lines }) => lines.filter(({ level, message }) => isProblem(level, message)));
  }

  step(): void {
    const node = this.#pick(NODES);
    const ref = { kind: "Node", namespace: "", name: node } as const;
    this.#pick([
      () => this.patch(ref, { status: { conditions: [this.#condition()] } }, "status"),
      () => this.patch(ref, { metadata: { annotations: this.#annotation() } }),
      () => this.taint(node, [{ key: this.#pick(KEYS), effect: "NoExecute", timeAdded: this.#time() }]),
      () => this.taint(node, []),
      () => this.silence([node]),
      () => this.revive([node]),
      () => this.#restart(),
    ])();
    this.advance(this.#pick([0, 100, 3 * S, 20 * S, 70 * S]));
  }

  #begin(): ReturnType<EvictionWorld["start"]> {
    const process = this.start(EVICTING, { member: "vigil", policies: this.#policies });
    this.#logs.push(process.log);
    return process;
  }

  #restart(): void {
    this.#process.kill();
    this.#process = this.#begin();
  }

  #time(): string {
    const off = OFF_MS.map((ms) => `${new Date(this.clock.wallMs() + ms).toISOString().slice(0, 19)}Z`);
    return this.#pick([...FIXED, ...off]);
  }

  #condition(): Record<string, string> {
    const [type, status] = [this.#pick(CONDITIONS), this.#pick(["True", "False", "Unknown"])];
    return { type, status, lastHeartbeatTime: this.#time(), lastTransitionTime: this.#time() };
  }

  #annotation(): Record<string, string> {
    const [name, record] = this.#pick(Object.entries(recordsAt(() => this.#time())));
    return { [name]: JSON.stringify(record) };
  }

  #toleration(key: string): Record<string, unknown> {
    return { key, operator: "Exists", effect: "NoExecute", tolerationSeconds: this.#pick(SECONDS) };
  }
}

test.each([2, 3, 4, 5, 6, 7])("extreme instants are survived (seed %i)", (seed) => {
  const random = seededRandom(seed);
  const world = new ExtremeWorld((list) => list[Math.floor(random() * list.length)] as (typeof list)[number]);
  for (let step = 0; step < STEPS; step++) world.step();
  expect(world.problems).toEqual([]);
});
