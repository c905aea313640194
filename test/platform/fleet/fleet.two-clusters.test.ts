/** Two Kubernetes clusters with the same node names, each with its own Vigil under one --cluster, whose buses merge. */
import { expect, test } from "vitest";
import type { Transport } from "../../../protocols/ports.ts";
import { SERVICE_NAMES } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { startController } from "../../../services/cli/process/controller.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { ForeignMembers } from "../../../services/platform/fleet/foreign-members.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { ApiServer } from "../../../services/sandbox/apiserver/apiserver.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { seededRandom } from "../../support/random.seeded.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { TestKubelet } from "../../support/test-kubelet.ts";

const profile = STANDARD_PROFILE;
const NODES = ["node-1", "node-2", "node-3", "node-4"];

/** A Kubernetes cluster with Vigil on a bus of its own. */
function vigilOn(name: string, clock: VirtualClock) {
  const transport = memoryTransport(clock);
  const ports = { clock, random: seededRandom(name), log: recordingLog(), metrics: createMetrics(), profile };
  const { wire } = new ApiServer({ clock, random: ports.random });
  const kube = createKube({ wire, ...ports });
  const kubelets = NODES.map((node) => new TestKubelet(kube, clock, { name: node }));
  for (const kubelet of kubelets) kubelet.register();
  const about = { cluster: "prod", member: `vigil-${name}`, services: SERVICE_NAMES, isShared: true, store: null };
  const foreignMembers = new ForeignMembers({ ...ports, cluster: "prod", clusterUid: `uid-of-${name}` });
  const fatal = (problem: string) => expect.fail(problem);
  startController({ ...ports, ...about, kube, transport, foreignMembers, fatal });
  const ready = () => {
    const shown: (string | undefined)[] = [];
    for (const node of NODES) {
      kube.read({ kind: "Node", namespace: "", name: node }, (reply) => {
        if (reply.outcome !== "ok") return;
        const { conditions = [] } = reply.object.status as { conditions?: { type: string; status: string }[] };
        shown.push(conditions.find(({ type }) => type === "Ready")?.status);
      });
    }
    clock.advance(0);
    return shown;
  };
  return { transport, kubelets, ready };
}

/** From now on each bus carries the messages of the other. */
function joinBuses(left: Transport, right: Transport): void {
  const crossed = new WeakSet<Uint8Array>();
  for (const [from, to] of [
    [left, right],
    [right, left],
  ] as const) {
    from.subscribe("vigil.>", (payload, subject) => {
      if (crossed.has(payload)) return;
      const copy = payload.slice();
      crossed.add(copy);
      to.publish(subject, copy);
    });
  }
}

test("a node that dies in one cluster does not affect its namesake in the other", () => {
  const clock = new VirtualClock();
  const [east, west] = [vigilOn("east", clock), vigilOn("west", clock)];
  clock.advance(30_000);
  joinBuses(east.transport, west.transport);
  clock.advance(60_000);
  east.kubelets[0]?.stop();
  clock.advance(profile.nodeMonitorGraceMs + 15_000);
  expect(east.ready()).toEqual(["Unknown", "True", "True", "True"]);
  expect(west.ready()).toEqual(["True", "True", "True", "True"]);
});
