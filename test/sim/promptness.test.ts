/** How late a pod may be that is still there in the calm. */
import { expect, test } from "vitest";
import { apiTime } from "../../services/domain/api-time.ts";
import { isObject } from "../../services/sandbox/apiserver/api-objects.ts";
import { wrongs } from "./oracle.ts";
import { Promptness } from "./promptness.ts";
import { drawSwarm, type FaultClass } from "./swarm.ts";
import { World } from "./world.ts";

const S = 1000;
/** How long everything must stay right at the end of a run. */
const STAYS_MS = 20 * S;

/** What is wrong with a pod that is `lateSeconds` late, now or in 20 s. */
function wrongWith(lateSeconds: number, faults: readonly FaultClass[], aheadMs: number): string[] {
  const drawn = drawSwarm(1);
  const swarm = {
    ...drawn,
    plot: null,
    zones: [{ name: "zone-1", labels: "stable" as const, nodes: 1 }],
    profile: { ...drawn.profile, evictionMode: "taint" as const },
    faults: new Set(faults),
  };
  const world = new World(swarm);
  world.clock.advance(30 * S);
  const taint = { key: "example.com/maintenance", effect: "NoExecute", timeAdded: apiTime(world.clock.wallMs()) };
  world.edit("nodes", "zone-1-n1", ({ spec, ...node }) => ({
    ...node,
    spec: { ...(isObject(spec) ? spec : {}), taints: [taint] },
  }));
  const seenAt = world.clock.wallMs();
  const tolerating = [{ key: taint.key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 }];
  world.addPod("zone-1-n1", "waiting");
  world.edit("pods", "waiting", ({ spec, ...pod }) => ({
    ...pod,
    spec: { ...(isObject(spec) ? spec : {}), tolerations: tolerating },
  }));
  world.clock.advance((60 + lateSeconds) * S);
  const slackMs = new Promptness(swarm, false).slackMs(aheadMs);
  const found = wrongs(world, { slackMs, standing: () => ({ seenAt }) }).map(({ text }) => text);
  return found.filter((what) => what.startsWith("waiting on"));
}

const NOT_EVICTED = ["waiting on zone-1-n1: not evicted for example.com/maintenance:NoExecute"];

test.each<[string, number, readonly FaultClass[], boolean]>([
  ["89 s late under faults may be there", 89, ["standstills"], false],
  ["92 s late under faults may not", 92, ["standstills"], true],
  ["16 s late without faults may be there", 16, [], false],
  ["19 s late without faults may not", 19, [], true],
])("a pod %s", (_what, lateSeconds, faults, isWrong) => {
  expect(wrongWith(lateSeconds, faults, 0)).toEqual(isWrong ? NOT_EVICTED : []);
});

test.each<[string, number, readonly FaultClass[], boolean]>([
  ["69 s late under faults is not waited for", 69, ["standstills"], false],
  ["72 s late under faults is waited for, as it would be 92 s late", 72, ["standstills"], true],
  ["not due yet is not waited for", -1, [], false],
])("before everything must stay right, a pod %s", (_what, lateSeconds, faults, isWrong) => {
  expect(wrongWith(lateSeconds, faults, STAYS_MS)).toEqual(isWrong ? NOT_EVICTED : []);
});
