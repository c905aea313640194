/** A sentence about policies may describe a node that has just left the API. */
import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { type Claim, untruth } from "../explained-claims.ts";
import { explainedSentence } from "../explained-sentences.ts";
import { ExplainedTruth } from "../explained-truth.ts";
import { World } from "../world.ts";
import { POLICIES_STORAGE } from "./api-policies.ts";
import { PolicyView } from "./policy-view.ts";
import { POOL_LABEL } from "./pools.ts";

const LEFT_MS = 60_000;

/** The policies of an API in which `oncall-2` has frozen pool a through policy a, since the start. */
function frozenPool(clock: VirtualClock): PolicyView {
  const spec = {
    selector: { matchLabels: { [POOL_LABEL]: "a" } },
    pauseRequests: [{ name: "oncall-2", since: new Date(clock.wallMs()).toISOString() }],
  };
  const listeners: (() => void)[] = [];
  const collection = (kind: string) => ({
    listen: (heard: () => void) => listeners.push(heard),
    sorted: () => (kind === POLICIES_STORAGE ? [{ name: "a", json: JSON.stringify({ spec }) }] : []),
    get: () => undefined,
  });
  const world: World = Object.assign(Object.create(World.prototype), { clock, api: { store: { collection } } });
  const view = new PolicyView({ world, count: () => {} }, () => {});
  for (const heard of listeners) heard();
  return view;
}

describe("a node of a frozen pool that has just left", () => {
  const clock = new VirtualClock();
  const startMs = clock.wallMs();
  const policies = frozenPool(clock);
  const truth = new ExplainedTruth();
  truth.nodes.note("n", startMs, { metadata: { name: "n", uid: "u", labels: { [POOL_LABEL]: "a" } } });
  clock.advance(LEFT_MS);
  truth.nodes.note("n", clock.wallMs(), null);

  /** The problem with a sentence that may describe any state since an instant. */
  function problemOf(text: string, nodeSinceMs: number): string | null {
    const sentence = explainedSentence(text);
    if (sentence === null) throw new Error(`${text} is no sentence`);
    const asked = { node: "n", pod: "", nodeSinceMs, podSinceMs: 0, overdueMs: 0, isDirect: false, isCalm: false };
    const unasked: Pick<Claim, "isSilent" | "wasAlive" | "zone"> = {
      isSilent: () => false,
      wasAlive: () => false,
      zone: () => null,
    };
    return untruth({ ...sentence, ...asked, ...unasked, truth, policies });
  }

  const FROZEN =
    "It has been frozen since 2026-01-01T00:00:00Z by oncall-2 through NodePolicy a: until somebody thaws it, " +
    "it is not tainted NoExecute and none of its pods is evicted; healing goes on.";

  test("may be said to be frozen", () => {
    expect(problemOf(FROZEN, startMs + 1_000)).toBeNull();
  });

  test("may not be, by somebody else", () => {
    expect(problemOf(FROZEN.replace("oncall-2", "oncall-3"), startMs + 1_000)).toContain("is not so (nodeFrozen)");
  });

  test("may not be, once that is long ago", () => {
    clock.advance(LEFT_MS);
    expect(problemOf(FROZEN, startMs + LEFT_MS + 1_000)).toContain("is not so (nodeFrozen)");
  });
});
