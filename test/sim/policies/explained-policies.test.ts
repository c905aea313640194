/** A sentence about policies may describe a node that has just left the API, by a clock that is a little wrong. */
import { describe, expect, test } from "vitest";
import { apiTime } from "../../../services/domain/api-time.ts";
import { type Sentence, sentence } from "../../../services/ledger/explain/sentences.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { type Claim, isTrue } from "../explained-claims.ts";
import { ExplainedTruth } from "../explained-truth.ts";
import { CLOCK_ERROR_MS } from "../fault-bounds.ts";
import { World } from "../world.ts";
import { POLICIES_STORAGE } from "./api-policies.ts";
import { PolicyView } from "./policy-view.ts";
import { POOL_LABEL } from "./pools.ts";

const LEFT_MS = 60_000;

type Requests = readonly { readonly name: string; readonly since?: string; readonly until?: string }[];

/** The policies of an API in which people freeze pool a through policy a; clocks are a little wrong. */
class FrozenPool {
  readonly clock = new VirtualClock();
  readonly startMs = this.clock.wallMs();
  readonly view: PolicyView;
  readonly #truth = new ExplainedTruth();
  readonly #listeners: (() => void)[] = [];
  #spec: object = {};

  constructor() {
    const collection = (kind: string) => ({
      listen: (heard: () => void) => this.#listeners.push(heard),
      sorted: () => (kind === POLICIES_STORAGE ? [{ name: "a", json: JSON.stringify({ spec: this.#spec }) }] : []),
      get: () => undefined,
    });
    const swarm = { faults: new Set(["wrongClocks"]) };
    const parts = { clock: this.clock, swarm, api: { store: { collection } } };
    const world: World = Object.assign(Object.create(World.prototype), parts);
    this.view = new PolicyView({ world, count: () => {} }, () => {});
    const metadata = { name: "n", uid: "u", labels: { [POOL_LABEL]: "a" } };
    this.#truth.nodes.note("n", this.startMs, { metadata });
    const created = { namespace: "default", name: "p", uid: "u", creationTimestamp: this.at(0) };
    this.#truth.pods.note("p", this.startMs, { metadata: created, spec: { nodeName: "n" } });
  }

  freeze(pauseRequests: Requests, mode = "Enforce"): void {
    this.#spec = { selector: { matchLabels: { [POOL_LABEL]: "a" } }, mode, pauseRequests };
    for (const heard of this.#listeners) heard();
  }

  /** The node leaves the API. */
  leave(): void {
    this.#truth.nodes.note("n", this.clock.wallMs(), null);
  }

  /** The instant of a second of the run, as people and sentences write it. */
  at(second: number): string {
    return apiTime(this.startMs + second * 1_000);
  }

  /** Whether a sentence that may describe any state since an instant is true. */
  allows(fact: Sentence, nodeSinceMs = this.startMs): boolean {
    const late = { overdueMs: 0, lostMs: 0 };
    const asked = {
      node: "n",
      pod: "p",
      nodeSinceMs,
      podSinceMs: 0,
      ...late,
      isDirect: false,
      isComparing: false,
      isCalm: false,
    };
    const unasked: Pick<Claim, "isSilent" | "wasAlive" | "zone"> = {
      isSilent: () => false,
      wasAlive: () => false,
      zone: () => null,
    };
    return isTrue({ ...fact, ...asked, ...unasked, truth: this.#truth, policies: this.view });
  }
}

describe("a node of a frozen pool that has just left", () => {
  const pool = new FrozenPool();
  const { clock, startMs } = pool;
  pool.freeze([{ name: "oncall-2", since: pool.at(0) }]);
  clock.advance(LEFT_MS);
  pool.leave();

  const frozenBy = (by: string) => sentence("nodeFrozen", { at: pool.at(0), by: `${by} through NodePolicy a` });

  test("may be said to be frozen", () => {
    expect(pool.allows(frozenBy("oncall-2"), startMs + 1_000)).toBe(true);
  });

  test("may not be, by another user", () => {
    expect(pool.allows(frozenBy("oncall-3"), startMs + 1_000)).toBe(false);
  });

  test("may not be, once that is long ago", () => {
    clock.advance(LEFT_MS);
    expect(pool.allows(frozenBy("oncall-2"), startMs + LEFT_MS + 1_000)).toBe(false);
  });
});

/** The sentence about a freeze that ends at an instant. */
function frozenUntil(at: string, until: string, by: string): Sentence {
  return sentence("nodeFrozenUntil", { at, until, by });
}

describe("a planned freeze that is about to begin", () => {
  const planned = () => {
    const pool = new FrozenPool();
    pool.freeze([{ name: "oncall-1", since: pool.at(30), until: pool.at(44) }]);
    return { pool, fact: frozenUntil(pool.at(30), pool.at(44), "oncall-1 through NodePolicy a") };
  };

  test("may hold by a clock that is ahead", () => {
    const { pool, fact } = planned();
    pool.clock.advance(29_850);
    expect(pool.allows(fact)).toBe(true);
  });

  test("may not hold earlier", () => {
    const { pool, fact } = planned();
    pool.clock.advance(30_000 - CLOCK_ERROR_MS - 1_000);
    expect(pool.allows(fact)).toBe(false);
  });
});

describe("a freeze that is over as planned", () => {
  /** Whether the sentence is true so long after the end of the freeze, where it may describe no earlier state. */
  const isAllowedAfter = (ms: number) => {
    const pool = new FrozenPool();
    pool.freeze([{ name: "oncall-1", since: pool.at(0), until: pool.at(10) }]);
    pool.clock.advance(10_000 + ms);
    const fact = frozenUntil(pool.at(0), pool.at(10), "oncall-1 through NodePolicy a");
    return pool.allows(fact, pool.clock.wallMs());
  };

  test("may hold by a clock that is behind", () => {
    expect(isAllowedAfter(CLOCK_ERROR_MS - 1_000)).toBe(true);
  });

  test("may not hold later", () => {
    expect(isAllowedAfter(CLOCK_ERROR_MS + 1_000)).toBe(false);
  });
});

describe.each([
  ["request", [{ name: "oncall-1", since: "2026-01-01T00:00:00Z" }], "Enforce"],
  ["longer request", [{ name: "oncall-1", since: "2026-01-01T00:00:00Z", until: "2026-01-01T01:00:00Z" }], "Enforce"],
  ["mode", [], "Freeze"],
] as const)("a node thawed by the end of its %s", (_what, requests, mode) => {
  const thawed = () => {
    const pool = new FrozenPool();
    pool.freeze(requests, mode);
    pool.clock.advance(LEFT_MS);
    pool.freeze([]);
    pool.clock.advance(500);
    const nodeUntil = (second: number) => frozenUntil(pool.at(0), pool.at(second), "a request that has ended");
    const podUntil = (second: number) =>
      sentence("podFrozenUntil", { pod: "default/p", node: "n", left: "9s", at: pool.at(second) });
    return { allows: (fact: Sentence) => pool.allows(fact), nodeUntil, podUntil };
  };

  test("may be frozen until then by a clock", () => {
    const { allows, nodeUntil } = thawed();
    expect(allows(nodeUntil(61))).toBe(true);
  });

  test("may not be until earlier or later", () => {
    const { allows, nodeUntil } = thawed();
    expect(allows(nodeUntil(55))).toBe(false);
    expect(allows(nodeUntil(65))).toBe(false);
  });

  test("may keep a pod for longer", () => {
    const { allows, podUntil } = thawed();
    expect(allows(podUntil(70))).toBe(true);
    expect(allows(podUntil(55))).toBe(false);
  });
});
