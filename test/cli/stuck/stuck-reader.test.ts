/** How the stuck pods of a cluster are read, from an API server that answers by a script. */
import { expect, test } from "vitest";
import type { HttpRequest, Wire } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { readStuckPods } from "../../../services/cli/stuck/stuck-reader.ts";
import { stuckPodsSource } from "../../../services/cli/stuck/stuck-topic.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { proofMetadata } from "../../../services/platform/kube/proof-seal.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { seededRandom } from "../../support/random.seeded.ts";
import { recordingLog } from "../../support/recording-log.ts";

const NOW = Date.UTC(2026, 0, 1);
const PODS = "/api/v1/namespaces/shop/pods";
const CLAIM = "/api/v1/namespaces/shop/persistentvolumeclaims/data-db-0";
const ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments";

const nodeOf = (name: string, status: string) => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion: "1", creationTimestamp: "2025-01-01T00:00:00Z" },
  spec: {},
  status: { conditions: [{ type: "Ready", status, lastTransitionTime: "2025-12-31T23:00:00Z" }] },
});
const podOf = (name: string, nodeName: string, deletionTimestamp?: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name,
    namespace: "shop",
    uid: `uid-${name}`,
    resourceVersion: "1",
    deletionGracePeriodSeconds: 30,
    creationTimestamp: "2025-01-01T00:00:00Z",
    deletionTimestamp,
  },
  spec: {
    nodeName,
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: "data-db-0" } },
      { name: "scratch", ephemeral: {} },
    ],
  },
  status: {},
});
const LONG_AGO = "2025-12-31T23:30:00Z";
const STUCK = podOf("db-0", "dead", LONG_AGO);
const list = (...items: object[]) => ({ kind: "List", metadata: { resourceVersion: "9" }, items });
const status = (code: number, message: string) => ({ kind: "Status", code, message, reason: "" });

type Answers = Readonly<Record<string, object>>;
const CLUSTER: Answers = {
  "/api/v1/nodes": list(nodeOf("dead", "Unknown"), nodeOf("alive", "True")),
  "/api/v1/pods": list(STUCK, podOf("db-1", "alive", LONG_AGO), podOf("db-2", "dead"), podOf("db-3", "gone", LONG_AGO)),
  [`${PODS}/db-0`]: STUCK,
  [`${PODS}/db-3`]: podOf("db-3", "gone", LONG_AGO),
  [ATTACHMENTS]: list({
    metadata: { name: "csi-1" },
    spec: { nodeName: "dead", source: { persistentVolumeName: "pv-1" } },
  }),
  [CLAIM]: { metadata: { name: "data-db-0" }, spec: { volumeName: "pv-1" } },
};

/** Answers by path; a path without an answer does not exist. */
function stage(answers: Answers) {
  const clock = new VirtualClock({ wallMs: NOW });
  const asked: string[] = [];
  const wire: Wire = {
    send: ({ path }: HttpRequest, exchange) => {
      const [plain = ""] = path.split("?");
      asked.push(plain);
      const body = answers[plain] ?? status(404, `${plain} not found`);
      const code = "code" in body ? Number(body.code) : 200;
      clock.after(1, () => {
        exchange.response(code, { "content-type": "application/json" });
        exchange.data(Buffer.from(JSON.stringify(body)));
        exchange.end();
      });
      return { abort() {} };
    },
  };
  const parts = { wire, clock, random: seededRandom(1), log: recordingLog(), metrics: createMetrics() };
  return { io: { wire, clock, kube: createKube({ ...parts, profile: STANDARD_PROFILE }) }, asked, clock };
}

async function readFrom(answers: Answers, limit = 100) {
  const { io, asked, clock } = stage(answers);
  const reading = readStuckPods(io, limit);
  let settled = false;
  const settle = (): void => {
    settled = true;
  };
  reading.then(settle, settle);
  for (let step = 0; step < 200 && !settled; step++) {
    clock.advance(10);
    await Promise.resolve();
  }
  return { asked, found: await reading };
}

test("pods past their grace on dead and missing nodes are found and read", async () => {
  const { found, asked } = await readFrom(CLUSTER);
  expect(found.pods.map(({ name, nodeState }) => [name, nodeState])).toEqual([
    ["db-0", "Unknown"],
    ["db-3", "Gone"],
  ]);
  expect(found.pods[0]?.holds.map(({ kind, name }) => [kind, name])).toEqual([
    ["Node", "dead"],
    ["VolumeAttachment", "csi-1"],
  ]);
  expect([found.total, found.unread]).toEqual([2, []]);
  expect(asked.filter((path) => path.startsWith(PODS))).toEqual([`${PODS}/db-0`, `${PODS}/db-3`]);
});

test("a static pod of a tainted node is found in the list, and read no further", async () => {
  const { metadata, ...node } = nodeOf("alive", "True");
  const taints = [{ key: "maintenance", effect: "NoExecute", timeAdded: LONG_AGO }];
  const plain = podOf("proxy", "alive");
  const mirror = { ...plain, metadata: { ...plain.metadata, annotations: { "kubernetes.io/config.mirror": "x" } } };
  const answers = {
    "/api/v1/nodes": list({ ...node, metadata, spec: { taints } }),
    "/api/v1/pods": list(mirror, podOf("db-2", "alive")),
  };
  const { found, asked } = await readFrom(answers);
  expect(found.pods.map(({ name, nodeState, holds }) => [name, nodeState, holds[0]?.kind])).toEqual([
    ["proxy", "Ready", "StaticPod"],
  ]);
  expect([found.total, asked.filter((path) => path.startsWith(PODS))]).toEqual([1, []]);
});

test("a claim that two volumes of a pod name holds it once", async () => {
  const [volume] = STUCK.spec.volumes;
  const pod = { ...STUCK, spec: { ...STUCK.spec, volumes: [volume, { ...volume, name: "again" }] } };
  const { found } = await readFrom({ ...CLUSTER, [`${PODS}/db-0`]: pod });
  expect(found.pods[0]?.holds.map(({ kind }) => kind)).toEqual(["Node", "VolumeAttachment"]);
});

test.each([
  ["newer than the silence", "Unknown", "2025-12-31T23:10:00Z", "proved down, and not out of service yet"],
  ["older than the silence", "Unknown", "2025-12-31T22:50:00Z", "is silent, and not proved down"],
  ["of a node whose kubelet reports again", "False", "2025-12-31T23:10:00Z", "is not Ready, and not proved down"],
])("a proof %s", async (_what, ready, at, why) => {
  const { metadata, ...node } = nodeOf("dead", ready);
  const proof = proofMetadata(JSON.stringify({ proof: "Manual", by: "alice", at, reason: "" }));
  const nodes = list({ ...node, metadata: { ...metadata, ...proof } });
  const { found } = await readFrom({ ...CLUSTER, "/api/v1/nodes": nodes });
  expect(found.pods.find(({ name }) => name === "db-0")?.holds[0]?.why).toContain(why);
});

test.each([
  ["too old to act on the out-of-service taint", { major: "1", minor: "20+" }, /nothing in Kubernetes 1\.20 acts on/],
  ["new enough", { major: "1", minor: "36" }, /vigil prove-down dead/],
  ["that is not known", status(403, "not yours"), /vigil prove-down dead/],
  ["that nobody can read", { major: "1", minor: "new" }, /vigil prove-down dead/],
])("a cluster of a version %s", async (_what, version, releasedBy) => {
  const { found } = await readFrom({ ...CLUSTER, "/version": version });
  expect(found.pods[0]?.holds[0]?.releasedBy).toMatch(releasedBy);
});

test("a limit reads no more pods, and counts the others", async () => {
  const { found } = await readFrom(CLUSTER, 1);
  expect([found.pods.length, found.total]).toEqual([1, 2]);
});

test.each([
  ["went", status(404, "not found")],
  ["has a successor of its name", { ...STUCK, metadata: { ...STUCK.metadata, uid: "another" } }],
])("a pod that %s meanwhile is not stuck", async (_what, answer) => {
  const { found } = await readFrom({ ...CLUSTER, [`${PODS}/db-0`]: answer });
  expect([found.pods.map(({ name }) => name), found.total]).toEqual([["db-3"], 1]);
});

test.each([
  ["VolumeAttachments", ATTACHMENTS],
  ["PersistentVolumeClaims", CLAIM],
])("%s that may not be read are named, and the pods are shown", async (what, path) => {
  const { found } = await readFrom({ ...CLUSTER, [path]: status(403, "not yours") });
  expect(found.pods).toHaveLength(2);
  expect(found.pods[0]?.holds.map(({ kind }) => kind)).toEqual(["Node"]);
  expect(found.unread).toEqual([
    `${what} could not be read, so volumes that are still attached are not shown: 403: not yours`,
  ]);
});

test.each([
  ["/api/v1/nodes", "cannot list nodes: 403: not yours"],
  ["/api/v1/pods", "cannot list pods: 403: not yours"],
  [`${PODS}/db-0`, "cannot read pod shop/db-0: 403: not yours"],
])("without %s it fails with one line", async (path, problem) => {
  await expect(readFrom({ ...CLUSTER, [path]: status(403, "not yours") })).rejects.toThrow(problem);
});

test("a watch names what it cannot read once", async () => {
  const { io, clock } = stage({ ...CLUSTER, [ATTACHMENTS]: status(403, "not yours") });
  const warned: string[] = [];
  const ask = stuckPodsSource(io, 10, { warn: (line) => warned.push(line) });
  for (let times = 0; times < 2; times++) {
    const asking = ask();
    for (let step = 0; step < 50; step++) {
      clock.advance(10);
      await Promise.resolve();
    }
    expect((await asking).rows).toHaveLength(2);
  }
  expect(warned).toHaveLength(1);
});
