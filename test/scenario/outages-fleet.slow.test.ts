/** Scenarios on virtual time: the API server is away, and a fleet of three loses a member or its bus around that. */
import { expect, test } from "vitest";
import { VirtualFleet } from "../support/virtual-fleet.ts";

const S = 1000;
const OUTAGE_MS = 600 * S;
/** From the return of the API server on, members that lost it wait a little before they are able again. */
const PROMPT_MS = 30 * S;
const GRACE_MS = 50 * S;
const TOLERATED_S = 120;
const TOLERATIONS = [
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: TOLERATED_S },
];

/** Three members and twenty nodes; the first is dead, the second comes back with the API server. */
function fixture() {
  const world = new VirtualFleet();
  const kubelets = Array.from({ length: 20 }, (_, index) => world.addNode({ name: `n-${index}` }));
  for (const node of ["n-0", "n-1"]) world.addPod(node, `pod-${node}`, { spec: { tolerations: TOLERATIONS } });
  for (const member of ["a", "b", "c"]) world.join(member);
  world.advance(30 * S);
  for (const kubelet of kubelets.slice(0, 2)) kubelet.stop();
  world.advance(80 * S);
  expect([world.taints("n-0"), world.taints("n-1")].join()).toContain("unreachable:NoExecute");
  const back = world.api.faults.refuse();
  for (const kubelet of kubelets) kubelet.stop();
  world.advance(OUTAGE_MS);
  const isGone = (name: string) => {
    const pod = world.read({ kind: "Pod", namespace: "default", name });
    return pod === null || pod.metadata.deletionTimestamp !== undefined;
  };
  const resume = () => {
    back();
    for (const kubelet of kubelets.slice(1)) kubelet.resume();
  };
  return { world, resume, isGone };
}

test.each([
  ["with all members", () => () => {}],
  ["and the observing member dies 5 s after it", (world: VirtualFleet) => () => world.observing().kill()],
  [
    "and the bus is away from then on for a minute",
    (world: VirtualFleet) => () => {
      for (const { cutBus } of world.members.values()) {
        const join = cutBus();
        world.clock.after(60 * S, join);
      }
    },
  ],
])("after an outage, %s, only the pod of the dead node goes", (_what, planned) => {
  const { world, resume, isGone } = fixture();
  resume();
  world.advance(5 * S);
  planned(world)();
  world.advance(GRACE_MS - 6 * S);
  expect([isGone("pod-n-0"), isGone("pod-n-1")]).toEqual([false, false]);
  world.advance(TOLERATED_S * S + 60 * S + PROMPT_MS);
  expect([isGone("pod-n-0"), isGone("pod-n-1")]).toEqual([true, false]);
});
