/** NodePolicy objects under `vigil run` on an API server: their status, a budget, and a freeze, with `kill -9`. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TaintId } from "../../protocols/objects.ts";
import type { ObjectRef, ReadReply } from "../../protocols/ports.ts";
import { recordOf } from "../../services/structures/json.ts";
import { Stage, type StageServer, vigilWith } from "../support/stage.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { EvictionRecord } from "./eviction-record.ts";
import { definePolicies, describeWithPolicies, putPolicy } from "./policy-apis.ts";

const ZONE = "topology.kubernetes.io/zone";
const FLAGS = {
  "node-monitor-grace-period": "6s",
  "pulse-period": "250ms",
  "pulse-timeout": "2s",
  "watch-blind": "4s",
};
const GPU = { selector: { matchLabels: { [ZONE]: "gpu" } }, nodeEvictionRate: 1, budgets: [{ nodes: 1 }] };
const WITHIN = { withinMs: 90_000, everyMs: 100 };
const TOLERATION_MS = 12_000;
const TOLERATIONS = [{ operator: "Exists", effect: "NoExecute", tolerationSeconds: TOLERATION_MS / 1000 }];

function journey(open: () => Promise<StageServer>): void {
  let stage: Stage;
  let record: EvictionRecord;

  const status = async (name: string) => {
    const ref: ObjectRef = { kind: "NodePolicy", namespace: "", name };
    const reply = await new Promise<ReadReply>((resolve) => stage.kube.read(ref, resolve));
    return recordOf(reply.outcome === "ok" ? reply.object.status : {});
  };
  const condition = async (name: string, type: string) => {
    const conditions = ((await status(name)).conditions ?? []) as { type: string; reason: string; message: string }[];
    const { reason = "", message = "" } = conditions.find((each) => each.type === type) ?? {};
    return `${reason}: ${message}`;
  };
  const isUnknown = (node: string) => record.ready(node) === "Unknown";
  const isTainted = ({ key, effect }: TaintId) => key.endsWith("/unreachable") && effect === "NoExecute";
  const tainted = () =>
    [...record.nodes.values()].filter(({ taints }) => taints.some(isTainted)).map(({ node }) => node);
  const vigil = async (...argv: readonly string[]) => {
    const child = new VigilProcess([...argv, `--kubeconfig=${stage.kubeconfig}`]);
    expect(`${await child.exited()} ${child.err}`).toBe("0 ");
    return child.out;
  };

  beforeAll(async () => {
    stage = await Stage.open(vigilWith(FLAGS), await open());
    record = new EvictionRecord(stage.kube, Date.now);
    await definePolicies(stage);
    stage.register({ "gpu-0": "gpu", "gpu-1": "gpu", "gpu-2": "gpu", "web-0": "web", "web-1": "web", "web-2": "web" });
    await until("the nodes are registered", () => record.nodes.size === 6, WITHIN);
    await stage.restart();
    await putPolicy(stage, "gpu", GPU);
  }, 180_000);

  afterAll(async () => {
    record.stop();
    await stage.close();
  });

  test("say how many nodes they have, and whether they are in force", async () => {
    await until("the status is written", async () => (await status("gpu")).nodes === 3, WITHIN);
    expect(await condition("gpu", "Ready")).toBe("InForce: the policy is in force");
  }, 120_000);

  test("say which fields are wrong, and the others go on", async () => {
    const never = { nodes: 0, schedule: "0 0 30 2 *", duration: "1h" };
    await putPolicy(stage, "never", { selector: { matchLabels: { [ZONE]: "web" } }, budgets: [never] });
    const isRefused = async () => (await condition("never", "FieldsAccepted")).startsWith("Invalid: ");
    await until("the schedule that never fires is refused", isRefused, WITHIN);
    expect(await condition("never", "FieldsAccepted")).toContain("budgets");
    expect(await condition("gpu", "FieldsAccepted")).toBe("Accepted: every field is honoured");
  }, 120_000);

  test("hold back what their budget does not allow, over kill -9", async () => {
    stage.silence("gpu-0", "gpu-1");
    await until("both are Unknown", () => isUnknown("gpu-0") && isUnknown("gpu-1"), WITHIN);
    await until("one of them is tainted", () => tainted().length === 1, WITHIN);
    await stage.restart();
    await until("the status counts both", async () => (await status("gpu")).unhealthy === 2, WITHIN);
    await until("the status shows the budget", async () => (await status("gpu")).budgetLeft === 0, WITHIN);
    expect(tainted()).toHaveLength(1);
  }, 180_000);

  test("keep what is left of a countdown while frozen, over kill -9", async () => {
    stage.resume("gpu-0", "gpu-1");
    await until("all is well", () => tainted().length === 0 && !isUnknown("gpu-0") && !isUnknown("gpu-1"), WITHIN);
    await stage.create([{ name: "job", node: "gpu-2", tolerations: TOLERATIONS }]);
    stage.silence("gpu-2");
    await until("it is tainted", () => tainted().includes("gpu-2"), WITHIN);
    const taintedAt = record.stampedAt.get("gpu-2") ?? Number.NaN;
    expect(await vigil("freeze", "--policy=gpu", "--reason=test")).toMatch(/^frozen: /);
    const frozenAt = Date.now();
    await stage.restart();
    await until("the status says who froze it", async () => (await status("gpu")).frozenBy !== undefined, WITHIN);
    await until("the countdown would be over", () => Date.now() > taintedAt + 2 * TOLERATION_MS, WITHIN);
    expect(record.deletedAt.has("job")).toBe(false);
    const thawedAt = Date.now();
    expect(await vigil("thaw", "--policy=gpu")).toMatch(/^thawed: /);
    await until("the pod has gone", () => record.deletedAt.has("job"), WITHIN);
    // Taints are stamped in whole seconds.
    const leftMs = TOLERATION_MS - (frozenAt - taintedAt) - 1000;
    expect((record.deletedAt.get("job") ?? 0) - thawedAt).toBeGreaterThan(leftMs);
  }, 180_000);
}

describeWithPolicies("policies", journey);
