/**
 * etcd is restored from a backup of two hours ago, in which a node that has long been well carries the taints of an
 * illness. All resourceVersions go back, and objects that were created since are gone.
 */
import { expect } from "vitest";
import type { OutageScript } from "./both-controllers.ts";
import type { OutageSpec } from "./outage-cluster.ts";

const ILL = "a-0";
const BACKUP_SECONDS = 2 * 3600;
const RENEWED_SECONDS = 1;
const POSTED_SECONDS = 8;
const OBSERVED_SECONDS = 16;
/** More changes than the nodes make again until the end of the case. */
const LOST_CHANGES = 400;

/** The nodes and pods. */
export const SPEC: OutageSpec = {
  nodes: Array.from({ length: 20 }, (_, index) => `a-${index}`),
  tolerationSeconds: { [ILL]: 40 },
};

/** The script: the controller runs on, with watches at resourceVersions that were lost, or restarts. */
export function restoredEtcd({ restarts }: { readonly restarts: boolean }): OutageScript {
  return async (cluster) => {
    cluster.silence(ILL);
    await cluster.untilTainted(ILL);
    const aged = await cluster.aged();
    const restore = cluster.api.backUp();
    cluster.renew(ILL);
    cluster.post(ILL);
    await cluster.untilWell(ILL);
    const lost = (await cluster.resourceVersion()) + LOST_CHANGES;
    await cluster.renewUntilVersion(lost);
    // Watches of nodes and pods come to the end of the lost versions too.
    cluster.post(...cluster.nodes);
    await cluster.createPod("a-1", 40);
    if (restarts) await cluster.killController();
    cluster.silence(...cluster.nodes);
    await restore();
    await aged(BACKUP_SECONDS);
    await cluster.returnPower();
    await cluster.untilAfterReady(RENEWED_SECONDS);
    cluster.renew(...cluster.nodes);
    await cluster.untilAfterReady(POSTED_SECONDS);
    const healed = await cluster.heal("taints of the node that was ill", ILL);
    await cluster.untilAfterReady(OBSERVED_SECONDS);
    const probed = await cluster.probe();
    expect(await cluster.resourceVersion()).toBeLessThan(lost);
    // Upstream's watches go on at the lost versions, and see nothing until these are reached again.
    const known = { failsUpstream: !restarts };
    return [
      await cluster.deletions("pod of the node that was ill", [ILL]),
      { ...healed, ...known },
      { ...probed, ...known },
    ];
  };
}
