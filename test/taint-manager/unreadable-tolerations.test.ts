/** Pods with tolerations that cannot be read are not evicted by the taints that these may concern, and that is said. */
import { expect, test } from "vitest";
import type { Toleration } from "../../protocols/objects.ts";
import { Stored } from "../../services/sandbox/apiserver/store/stored.ts";
import { EVICTING } from "../support/eviction-world.ts";
import { ExplainedWorld } from "../support/explained-world.ts";
import { metricValue } from "../support/metric-value.ts";

const S = 1000;
const GPU = { key: "gpu-version", value: "7", effect: "NoExecute" };
const HELD = "vigil_unreadable_toleration_pods";
const SEMVER: Toleration = { key: "gpu-version", operator: "SemverGt", value: "6" };
const GT: Toleration = { key: "gpu-version", operator: "Gt", value: "6" };

/** A cluster of three nodes; a-0 runs the pod `held` with this toleration, and one that tolerates nothing. */
function held(toleration: Toleration, comparisonOperators = false) {
  const world = new ExplainedWorld([], { tolerationComparisonOperators: comparisonOperators });
  world.addZone("a", 3);
  world.addTolerantPod("a-0", "held", [{ key: "gpu-version", operator: "Exists" }]);
  world.addTolerantPod("a-0", "other", []);
  storeTolerations(world, "held", [toleration]);
  const process = world.start(EVICTING, { member: "vigil" });
  world.advance(10 * S);
  world.taint("a-0", [GPU]);
  world.advance(10 * S);
  return { world, process };
}

/** Stores tolerations as an API server of a later version does: the embedded one refuses them. */
function storeTolerations(world: ExplainedWorld, name: string, tolerations: readonly Toleration[]): void {
  const { store } = world.api;
  const stored = store.collection("pods").get("default", name);
  if (stored === undefined) throw new Error(`there is no pod ${name}`);
  const { namespace, uid, revision, node, phase, terminating } = stored;
  const json = JSON.stringify({ ...stored.object(), spec: { nodeName: node, tolerations } });
  const changed = new Stored({ namespace, name, uid, revision, node, phase, terminating, json });
  store.put("pods", changed.at(store.nextRevision()));
}

/** The pods whose eviction was requested. The embedded API server refuses every write to the held one. */
function requested(world: ExplainedWorld): string[] {
  return [...new Set(world.published("asked.eviction").map(({ body }) => body.name))];
}

test.each<[string, Toleration, string]>([
  [
    "an unknown operator",
    SEMVER,
    "toleration operator SemverGt: this version of Vigil does not know it, so upgrade Vigil or delete the pod by hand",
  ],
  [
    "Gt without its gate",
    GT,
    "toleration operator Gt: give --feature-gates=TaintTolerationComparisonOperators=true or delete the pod by hand",
  ],
  [
    "an unknown effect",
    { key: "gpu-version", operator: "Exists", effect: "NoAdmit" },
    "toleration effect NoAdmit: this version of Vigil does not know it, so upgrade Vigil or delete the pod by hand",
  ],
])("%s holds the pod, is logged once, counted and explained", async (_what, toleration, why) => {
  const { world, process } = held(toleration);
  expect(world.deleted.map(({ name }) => name)).toEqual(["other"]);
  expect(world.sentencesOfPod("held")[0]).toBe(
    `Pod default/held is not evicted by gpu-version:NoExecute, which it may tolerate: ${why}.`,
  );
  expect(await metricValue(process.metrics, HELD)).toBe(1);
  const lines = process.log.lines.filter(({ message }) => message.includes(why));
  expect(lines.map(({ level, message }) => [level, message.slice(0, message.indexOf(":NoExecute"))])).toEqual([
    ["warn", "pod default/held is not evicted from node a-0 by gpu-version"],
  ]);
  world.taint("a-0", []);
  world.advance(S);
  expect(await metricValue(process.metrics, HELD)).toBe(0);
});

test("another taint evicts such a pod", async () => {
  const { world, process } = held(SEMVER);
  world.taint("a-0", [GPU, { key: "maintenance", effect: "NoExecute" }]);
  world.advance(S);
  expect(requested(world)).toEqual(["other", "held"]);
  expect(await metricValue(process.metrics, HELD)).toBe(0);
});

test("with the gate, Gt is read", async () => {
  const { world, process } = held({ ...GT, value: "7" }, true);
  expect(requested(world).sort()).toEqual(["held", "other"]);
  expect(await metricValue(process.metrics, HELD)).toBe(0);
});

test("a held pod that is gone is not counted any more", async () => {
  const { world, process } = held(SEMVER);
  world.removePod("held");
  world.advance(S);
  expect(await metricValue(process.metrics, HELD)).toBe(0);
});
