/** The real controller manager beside a test's API server: upstream's behaviour is available for comparison. */
import { expect, test } from "vitest";
import { FORCED_CONDITIONS, SilentReason, TaintEffect, TaintKey } from "../../../protocols/names.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import { Urgency } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { startKubeApiserver } from "../../support/kube-apiserver.ts";
import { describeWithKube } from "../../support/kube-assets.ts";
import { startControllerManager } from "../../support/kube-controller-manager.ts";
import { seeNodes, write } from "../../support/kube-probe.ts";
import { until } from "../../support/until.ts";

const UNREACHABLE = `${TaintKey.unreachable}:${TaintEffect.noSchedule}`;

function taintsOf(node: ObservedNode | undefined): string[] {
  return (node?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
}

describeWithKube("upstream's node lifecycle controller", () => {
  test("marks a node that never posted its status Unknown and taints it (R4.19)", async () => {
    const server = await startKubeApiserver();
    const kube = createKube({
      wire: server.wire(),
      clock: realClock(),
      random: systemRandom,
      log: silentLog,
      metrics: createMetrics(),
      profile: STANDARD_PROFILE,
    });
    const nodes = seeNodes(kube);
    const flags = {
      "node-monitor-period": "1s",
      "node-monitor-grace-period": "2s",
      "node-startup-grace-period": "2s",
    };
    const manager = await startControllerManager({
      kubeconfig: server.kubeconfig,
      controllers: ["nodelifecycle"],
      flags,
    });
    try {
      const ref = { kind: "Node", namespace: "", name: "silent" } as const;
      const body = { metadata: { name: "silent" } };
      await write(kube, { ref, urgency: Urgency.status, verb: "create", body });
      await until("the node is tainted", () => taintsOf(nodes.present.get("silent")).includes(UNREACHABLE));
      expect(nodes.present.get("silent")?.conditions).toEqual(
        FORCED_CONDITIONS.map((type) =>
          expect.objectContaining({ type, status: "Unknown", reason: SilentReason.never.reason }),
        ),
      );
    } finally {
      await manager.stop();
      nodes.watch.stop();
      await server.stop();
    }
  });
}, ["kube-controller-manager"]);
