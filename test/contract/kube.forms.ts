/**
 * The contract's part about protobuf: lists in protobuf and in JSON show the same cluster. Only a server that speaks
 * protobuf can pass it.
 */
import { afterEach, expect, test } from "vitest";
import { LEASE_NAMESPACE } from "../../protocols/names.ts";
import type { Kube, Wire } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics, type ReadableMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { type Seen, seeLeases, seeNodes, seePods } from "../support/kube-probe.ts";
import { metricValue } from "../support/metric-value.ts";
import { until } from "../support/until.ts";
import { nodeNamed, nodePath, type ProvidedServer, podNamed, RawClient } from "./kube.provided.ts";

const PODS = "/api/v1/namespaces/default/pods";
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${LEASE_NAMESPACE}/leases`;
const PROTOBUF = "application/vnd.kubernetes.protobuf";
const JSON_FORM = "application/json";
const NAME = "f-full";
const TIME = "2026-01-02T03:04:05Z";

/** Registers the tests. */
export function formsContract(server: () => ProvidedServer): void {
  let seen: Seen<"nodes" | "leases" | "pods">[] = [];
  afterEach(() => {
    for (const { watch } of seen) watch.stop();
  });

  /**
   * Lists everything over a wire and resolves when all of it has arrived. Gives only what `fill` has created: other
   * leases may be renewed between two lists.
   */
  async function listedOver(wire: Wire): Promise<{ objects: unknown; metrics: ReadableMetrics }> {
    const metrics = createMetrics();
    const kube: Kube = createKube({
      wire,
      clock: realClock(),
      random: systemRandom,
      log: silentLog,
      metrics,
      profile: STANDARD_PROFILE,
    });
    const views = [seeNodes(kube), seeLeases(kube), seePods(kube)];
    seen = [...seen, ...views];
    await until("everything is listed", () => views.every(({ watch }) => watch.state().synced));
    const names = [NAME, `default/${NAME}`];
    const objects = views.map(({ present }) => [...present].filter(([name]) => names.includes(name)));
    return { objects, metrics };
  }

  test("lists in protobuf have the same content as lists in JSON", async () => {
    const client = new RawClient(server().wire);
    await fill(client);
    const forms = new Set<string>();
    const binary = await listedOver(wireThatNotes(server().wire, forms));
    const plain = await listedOver(wireInJson(server().wire));
    expect(binary.objects).toEqual(plain.objects);
    expect(binary.objects).toEqual([NAME, NAME, `default/${NAME}`].map((name) => [[name, expect.anything()]]));
    expect([...forms]).toEqual(expect.arrayContaining([PROTOBUF, JSON_FORM]));
    await client.patch(`${PODS}/${NAME}`, "merge-patch", { metadata: { finalizers: null } });
    expect(await metricValue(binary.metrics, "vigil_kube_unreadable_total")).toBe(0);
  });
}

/** Creates a node, a lease and a pod with every field that is compared. */
async function fill(client: RawClient): Promise<void> {
  const metadata = {
    name: NAME,
    labels: { "topology.kubernetes.io/zone": "zone-a" },
    annotations: { "forms/annotated": "ä" },
  };
  const taints = [
    { key: "a", value: "v", effect: "NoExecute", timeAdded: TIME },
    { key: "b", effect: "NoSchedule" },
  ];
  const condition = { type: "Ready", status: "True", reason: "Fine", message: "m", lastTransitionTime: TIME };
  const conditions = [{ ...condition, lastHeartbeatTime: TIME }];
  await client.post("/api/v1/nodes", nodeNamed(NAME, { metadata, spec: { unschedulable: true, taints } }));
  await client.patch(`${nodePath(NAME)}/status`, "merge-patch", { status: { conditions } });
  await client.post(LEASES, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: NAME, namespace: LEASE_NAMESPACE },
    spec: { holderIdentity: NAME, leaseDurationSeconds: 40, renewTime: "2026-01-02T03:04:05.678901Z" },
  });
  const pod = podNamed(NAME, NAME);
  const ownerReferences = [{ apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "u", controller: true }];
  const tolerations = [{ key: "k", operator: "Equal", value: "v", effect: "NoExecute", tolerationSeconds: -7 }];
  const { status } = await client.post(PODS, {
    ...pod,
    metadata: { name: NAME, namespace: "default", ownerReferences, finalizers: ["forms/kept"] },
    spec: { ...Object(pod.spec), tolerations },
  });
  if (status !== 201) throw new Error(`the pod was answered with ${status}`);
  const podConditions = ["PodScheduled", "Ready"].map((type) => ({ ...condition, type }));
  const podStatus = { phase: "Running", startTime: TIME, conditions: podConditions };
  await client.patch(`${PODS}/${NAME}/status`, "merge-patch", { status: podStatus });
  await client.delete(`${PODS}/${NAME}`);
}

/** The wire to a server that only speaks JSON. */
function wireInJson(wire: Wire): Wire {
  return {
    send: (request, exchange) =>
      wire.send({ ...request, headers: { ...request.headers, accept: JSON_FORM } }, exchange),
  };
}

/** The same wire; it records the form of each answer. */
function wireThatNotes(wire: Wire, forms: Set<string>): Wire {
  return {
    send: (request, exchange) =>
      wire.send(request, {
        ...exchange,
        response: (status, headers) => {
          forms.add(headers["content-type"] ?? "");
          exchange.response(status, headers);
        },
      }),
  };
}
