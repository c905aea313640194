/** A sentence about policies may describe a node that has just left the API, by a clock that is a little wrong. */
import { describe, expect, test } from "vitest";
import { apiTime } from "../../../services/domain/api-time.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { type Claim, untruth } from "../explained-claims.ts";
import { explainedSentence } from "../explained-sentences.ts";
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

  /** The problem with a sentence that may describe any state since an instant. */
  problemOf(text: string, nodeSinceMs = this.startMs): string | null {
    const sentence = explainedSentence(text);
    if (sentence === null) throw new Error(`${text} is no sentence`);
    const late = { overdueMs: 0, lostMs: 0 };
    const asked = { node: "n", pod: "p", nodeSinceMs, podSinceMs: 0, ...late, isDirect: false, isCalm: false };
    const unasked: Pick<Claim, "isSilent" | "wasAlive" | "zone"> = {
      isSilent: () => false,
      wasAlive: () => false,
      zone: () => null,
    };
    return untruth({ ...sentence, ...asked, ...unasked, truth: this.#truth, policies: this.view });
  }
}

describe("a node of a frozen pool that has just left", () => {
  const pool = new FrozenPool();
  const { clock, startMs } = pool;
  pool.freeze([{ name: "oncall-2", since: pool.at(0) }]);
  clock.advance(LEFT_MS);
  pool.leave();

  const FROZEN =
    "It has been frozen since 2026-01-01T00:00:00Z by oncall-2 through NodePolicy a: until somebody thaws it, " +
    "it is not tainted NoExecute and none of its pods is evicted; healing goes on.";

  test("may be said to be frozen", () => {
    expect(pool.problemOf(FROZEN, startMs + 1_000)).toBeNull();
  });

  test("may not be, by somebody else", () => {
    expect(pool.problemOf(FROZEN.replace("oncall-2", "oncall-3"), startMs + 1_000)).toContain("is not so (nodeFrozen)");
  });

  test("may not be, once that is long ago", () => {
    clock.advance(LEFT_MS);
    expect(pool.problemOf(FROZEN, startMs + LEFT_MS + 1_000)).toContain("is not so (nodeFrozen)");
  });
});

/** The sentence about a freeze that ends at an instant. */
function frozenUntil(since: string, until: string, by: string): string {
  return (
    `It has been frozen since ${since} by ${by}: until ${until} ` +
    "it is not tainted NoExecute and none of its pods is evicted; healing goes on."
  );
}

describe("a planned freeze that is about to begin", () => {
  const planned = () => {
    const pool = new FrozenPool();
    pool.freeze([{ name: "oncall-1", since: pool.at(30), until: pool.at(44) }]);
    return { pool, text: frozenUntil(pool.at(30), pool.at(44), "oncall-1 through NodePolicy a") };
  };

  test("may hold by a clock that is ahead", () => {
    const { pool, text } = planned();
    pool.clock.advance(29_850);
    expect(pool.problemOf(text)).toBeNull();
  });

  test("may not hold earlier", () => {
    const { pool, text } = planned();
    pool.clock.advance(30_000 - CLOCK_ERROR_MS - 1_000);
    expect(pool.problemOf(text)).toContain("is not so (nodeFrozenUntil)");
  });
});

describe("a freeze that is over as planned", () => {
  /** The problem with the sentence so long after the end of the freeze, where it may describe no earlier state. */
  const problemAfter = (ms: number) => {
    const pool = new FrozenPool();
    pool.freeze([{ name: "oncall-1", since: pool.at(0), until: pool.at(10) }]);
    pool.clock.advance(10_000 + ms);
    const text = frozenUntil(pool.at(0), pool.at(10), "oncall-1 through NodePolicy a");
    return pool.problemOf(text, pool.clock.wallMs());
  };

  test("may hold by a clock that is behind", () => {
    expect(problemAfter(CLOCK_ERROR_MS - 1_000)).toBeNull();
  });

  test("may not hold later", () => {
    expect(problemAfter(CLOCK_ERROR_MS + 1_000)).toContain("is not so (nodeFrozenUntil)");
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
      "Pod p stays while its node n is frozen: 9s remain of its countdown, " +
      `so it is due to be deleted at ${pool.at(second)}.`;
    return { problemOf: (text: string) => pool.problemOf(text), nodeUntil, podUntil };
  };

  test("may be frozen until then by a clock", () => {
    const { problemOf, nodeUntil } = thawed();
    expect(problemOf(nodeUntil(61))).toBeNull();
  });

  test("may not be until earlier or later", () => {
    const { problemOf, nodeUntil } = thawed();
    expect(problemOf(nodeUntil(55))).toContain("is not so (nodeFrozenUntil)");
    expect(problemOf(nodeUntil(65))).toContain("is not so (nodeFrozenUntil)");
  });

  test("may keep a pod for longer", () => {
    const { problemOf, podUntil } = thawed();
    expect(problemOf(podUntil(70))).toBeNull();
    expect(problemOf(podUntil(55))).toContain("is not so (podFrozenUntil)");
  });
});
