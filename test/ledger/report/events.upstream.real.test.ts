/** Vigil's Events beside those of the real kube-controller-manager, on a real API server, as kubectl shows them. */
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Clock } from "../../../protocols/ports.ts";
import { startLedger } from "../../../services/ledger/ledger.service.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { type KubeApiserver, startKubeApiserver } from "../../support/kube-apiserver.ts";
import { describeWithKube } from "../../support/kube-assets.ts";
import { type ControllerManager, startControllerManager } from "../../support/kube-controller-manager.ts";
import { observedNode } from "../../support/observed-objects.ts";
import { TestKubelet } from "../../support/test-kubelet.ts";
import { until } from "../../support/until.ts";
import { askedCondition, askedEviction, doneNode, donePod, judgedPod, ledgerWorld } from "../ledger-world.ts";

interface ApiEvent {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly involvedObject: Readonly<Record<string, string>>;
  readonly source: { readonly component: string };
  readonly reason: string;
  readonly type: string;
  readonly message: string;
  readonly count: number;
}

const TAINT = "test/away=1:NoExecute";
const EVENTS_OF_STORY = 6;
const THEIRS = { node: "theirs", pods: ["marked-theirs", "spared-theirs"] } as const;
const OURS = { node: "ours", pods: ["marked-ours", "spared-ours"] } as const;

let api: KubeApiserver;
let upstream: ControllerManager;

async function apply(...objects: readonly object[]): Promise<void> {
  const file = join(tmpdir(), `objects-${process.pid}.json`);
  writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  const { code, stderr } = await api.kubectl("apply", "-f", file);
  if (code !== 0) throw new Error(stderr);
}

async function kubectl(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await api.kubectl(...args);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

const kubeOfApi = () => {
  const { random, log, metrics, profile } = ledgerWorld().io;
  return createKube({ wire: api.wire(), clock: realClock(), random, log, metrics, profile });
};

const events = async (): Promise<ApiEvent[]> =>
  (JSON.parse(await kubectl("get", "events", "-A", "-o", "json")) as { items: ApiEvent[] }).items;

function eventually(what: string, holds: (all: readonly ApiEvent[]) => boolean): Promise<void> {
  const told = () => `${what}\n${upstream.log()}`;
  return until(told, async () => holds(await events()), { withinMs: 60_000, everyMs: 500 });
}

function untilTold(...messages: readonly string[]): Promise<void> {
  return eventually(messages.join("; "), (all) =>
    messages.every((expected) => all.some(({ message }) => message === expected)),
  );
}

const pod = (name: string, node: string, tolerations: readonly object[]) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default" },
  spec: { nodeName: node, tolerations, containers: [{ name: "c", image: "none" }] },
});
const tolerationSeconds = (seconds: number) => ({
  key: "test/away",
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: seconds,
});

const setStatus = (kind: string, name: string, condition: object) =>
  kubectl("patch", kind, name, "--subresource=status", "-p", JSON.stringify({ status: { conditions: [condition] } }));

/** Makes upstream write every Event about a node: its pods are marked and spared, it falls silent, it is removed. */
async function theirStory(): Promise<void> {
  const { node, pods } = THEIRS;
  const [marked, spared] = pods;
  const kubelet = new TestKubelet(kubeOfApi(), realClock(), { name: node, leasePeriodMs: 1000, statusPeriodMs: null });
  kubelet.resume();
  await untilTold(`Node ${node} event: Registered Node ${node} in Controller`);
  await setStatus("node", node, { type: "Ready", status: "True", lastHeartbeatTime: new Date().toISOString() });
  await setStatus("pod", spared, { type: "Ready", status: "True" });
  await kubectl("taint", "node", node, TAINT);
  await untilTold(`Marking for deletion Pod default/${marked}`);
  await kubectl("taint", "node", node, `${TAINT}-`);
  await untilTold(`Cancelling deletion of Pod default/${spared}`);
  // Renewed until here, however long that took: a silent node is tainted, and its pods are not spared.
  kubelet.stop();
  await untilTold(`Node ${node} status is now: NodeNotReady`, "Node is not ready");
  await kubectl("delete", "node", node);
  await untilTold(`Node ${node} event: Removing Node ${node} from Controller`);
}

/** Publishes the same for another node to a ledger on the same API server. Only the API and the wall clock are real. */
async function ourStory(uids: ReadonlyMap<string, string>): Promise<void> {
  const { node, pods } = OURS;
  const [marked, spared] = pods;
  const { ledger, io, clock, receive } = ledgerWorld();
  const kube = kubeOfApi();
  ledger.stop();
  const dated: Clock = {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => Date.now(),
    after: (delayMs, fire) => clock.after(delayMs, fire),
    soon: (run) => clock.soon(run),
  };
  const { stop } = startLedger({ ...io, kube, clock: dated });
  const uid = uids.get(node) ?? "";
  const target = (name: string) => ({ namespace: "default", name, uid: uids.get(name) ?? "", node });
  receive("observed.node", observedNode(node, { uid }), null);
  const order = receive("asked.eviction", askedEviction(target(marked)), null);
  receive("done.write", donePod("asked.eviction", target(marked)), order);
  receive("judged.pod", judgedPod(target(spared)), null);
  receive("judged.pod", judgedPod({ ...target(spared), eviction: "none" }), null);
  const force = receive("asked.condition", { ...askedCondition(node), uid }, null);
  receive("done.write", doneNode("asked.condition", node, { uid }), force);
  receive("done.write", donePod("asked.unready", target(spared)), null);
  receive("observed.gone", { node, uid }, null);
  const isOurs = ({ involvedObject }: ApiEvent) => involvedObject.name?.endsWith("ours");
  await eventually("all our Events are written", (all) => all.filter(isOurs).length === EVENTS_OF_STORY);
  stop();
}

/** What readers of Events see, without owner, time and the number in its name. */
function essenceOf(event: ApiEvent, whose: "ours" | "theirs", uids: ReadonlyMap<string, string>) {
  const { involvedObject, metadata, source, type, reason, message, count } = event;
  const { kind, namespace = "", name = "", uid = "none" } = involvedObject;
  const plain = (text: string) => text.replaceAll(whose, "it");
  return {
    type,
    reason,
    message: plain(message),
    count,
    component: source.component,
    object: `${kind} ${namespace}/${plain(name)}`,
    uid: uid === uids.get(name) ? "real" : uid,
    event: `${metadata.namespace}/${plain(metadata.name.slice(0, metadata.name.lastIndexOf(".")))}`,
  };
}
type Essence = ReturnType<typeof essenceOf>;

/** Upstream's Events about taints, with the pod's real uid. */
function bettered(event: Essence): Essence {
  if (event.reason !== "TaintManagerEviction") return event;
  return { ...event, uid: "real" };
}

async function create({ node, pods: [marked, spared] }: typeof OURS | typeof THEIRS): Promise<void> {
  await apply(
    { apiVersion: "v1", kind: "Node", metadata: { name: node } },
    pod(marked, node, []),
    pod(spared, node, [tolerationSeconds(300)]),
  );
}

async function uidsByName(): Promise<ReadonlyMap<string, string>> {
  const list = JSON.parse(await kubectl("get", "nodes,pods", "-A", "-o", "json")) as {
    items: { metadata: { name: string; uid: string } }[];
  };
  return new Map(list.items.map(({ metadata }) => [metadata.name, metadata.uid]));
}

async function told(whose: "ours" | "theirs", uids: ReadonlyMap<string, string>): Promise<Essence[]> {
  return (await events())
    .filter(({ involvedObject }) => involvedObject.name?.endsWith(whose))
    .map((event) => essenceOf(event, whose, uids))
    .sort((left, right) => left.message.localeCompare(right.message));
}

describeWithKube("Events beside upstream's", () => {
  beforeAll(async () => {
    api = await startKubeApiserver();
  });
  afterAll(async () => {
    await upstream?.stop();
    await api?.stop();
  });

  test("are equal, but for the taint controller's name and uid", async () => {
    const flags = { "node-monitor-grace-period": "8s", "node-monitor-period": "1s" };
    await create(THEIRS);
    const theirUids = await uidsByName();
    upstream = await startControllerManager({ kubeconfig: api.kubeconfig, controllers: ["nodelifecycle"], flags });
    await theirStory();
    await upstream.stop();
    await create(OURS);
    const ourUids = await uidsByName();
    await ourStory(ourUids);
    const theirs = await told("theirs", theirUids);
    expect(theirs).toHaveLength(EVENTS_OF_STORY);
    expect(await told("ours", ourUids)).toEqual(theirs.map(bettered));
  }, 180_000);
}, ["kube-controller-manager", "kubectl"]);
