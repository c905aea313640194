/** A suite of one outage: upstream's controller and Vigil meet it at the same time, each on a cluster of its own. */
import { beforeAll, expect, test } from "vitest";
import { describeWithKube } from "../support/kube-assets.ts";
import { CONTROLLERS, type ControllerName, OutageCluster, type OutageSpec } from "./outage-cluster.ts";
import { isRight, type Removals, removalTable } from "./removal-table.ts";

/** What happens to a cluster; resolves with what its controller removed. */
export type OutageScript = (cluster: OutageCluster) => Promise<readonly Removals[]>;

/** Describes the suite of an outage. It prints what both controllers removed, as a table for the log of CI. */
export function describeOutage(title: string, spec: OutageSpec, script: OutageScript): void {
  let played: ReadonlyMap<ControllerName, readonly Removals[]>;
  const suite = () => {
    beforeAll(async () => {
      const sides = await Promise.all(CONTROLLERS.map((controller) => play(controller, spec, script)));
      played = new Map(sides);
      console.log(removalTable(title, played));
    });

    test.each(CONTROLLERS)("%s removes the right pods and taints, in time", (controller) => {
      const removals = played.get(controller) ?? [];
      expect(removals).not.toEqual([]);
      expect(wrongOf(controller, removals)).toEqual([]);
    });
  };
  describeWithKube(title, suite, ["kube-controller-manager"]);
}

async function play(
  controller: ControllerName,
  spec: OutageSpec,
  script: OutageScript,
): Promise<[ControllerName, readonly Removals[]]> {
  const cluster = await OutageCluster.open(controller, spec);
  try {
    const removals = await script(cluster);
    if (wrongOf(controller, removals).length > 0) console.log(`the log of ${controller}:\n${cluster.log()}`);
    return [controller, removals];
  } finally {
    await cluster.close();
  }
}

function wrongOf(controller: ControllerName, removals: readonly Removals[]): Removals[] {
  const isExpected = ({ failsUpstream = false }: Removals) => controller === "vigil" || !failsUpstream;
  return removals.filter((each) => isExpected(each) && !isRight(each));
}
