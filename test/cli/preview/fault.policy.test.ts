/** Which fault the flags of a preview describe, and what is wrong with them. */
import { describe, expect, test } from "vitest";
import { type Fault, type FaultFlags, faultOf } from "../../../services/cli/preview/fault.policy.ts";
import { observedNode } from "../../support/observed-objects.ts";

const NO_FLAGS: FaultFlags = { zone: "", node: [], down: false, taint: "" };
const inZone = (name: string, region: string, zone: string) =>
  observedNode(name, { labels: { "topology.kubernetes.io/region": region, "topology.kubernetes.io/zone": zone } });
const NODES = [inZone("worker-1", "eu", "a"), inZone("worker-2", "eu", "b"), inZone("worker-3", "us", "b")];

const fault = (flags: Partial<FaultFlags>) => faultOf({ ...NO_FLAGS, ...flags })(NODES);

describe("a fault", () => {
  test.each<[Partial<FaultFlags>, Fault]>([
    [
      { zone: "a", down: true },
      { what: "zone a is down", nodes: new Set(["worker-1"]), taint: null },
    ],
    [
      { zone: "us/b", down: true },
      { what: "zone us/b is down", nodes: new Set(["worker-3"]), taint: null },
    ],
    [
      { node: ["worker-1", "worker-3"], down: true },
      { what: "worker-1 and worker-3 are down", nodes: new Set(["worker-1", "worker-3"]), taint: null },
    ],
    [
      { taint: "worker-1=example.com/x=y:NoExecute" },
      {
        what: "worker-1 carries example.com/x:NoExecute",
        nodes: new Set(["worker-1"]),
        taint: { key: "example.com/x", value: "y", effect: "NoExecute" },
      },
    ],
  ])("is read from %j", (flags, read) => expect(fault(flags)).toEqual(read));

  test.each<[Partial<FaultFlags>, string]>([
    [{}, "preview: give one of --zone=ZONE --down, --node=NAME --down or --taint=…"],
    [
      { zone: "a", node: ["worker-1"], down: true },
      "preview: give one of --zone=ZONE --down, --node=NAME --down or --taint=…",
    ],
    [{ zone: "a" }, "--zone=a: add --down"],
    [{ node: ["worker-1", "worker-2"] }, "--node=worker-1,worker-2: add --down"],
    [{ zone: "b", down: true }, "--zone=b: name one of eu/b and us/b"],
    [{ zone: "c", down: true }, "--zone=c: name one of eu/a, eu/b and us/b"],
    [{ node: ["worker-4"], down: true }, "--node=worker-4: there is no node worker-4; did you mean worker-1?"],
    [{ node: ["x"], down: true }, "--node=x: there is no node x; see kubectl get nodes"],
    [{ taint: "worker-1=x:NoExecute", down: true }, "--taint=worker-1=x:NoExecute: --down goes with --zone or --node"],
    [{ taint: "worker-1" }, "--taint=worker-1: write it as NODE=KEY[=VALUE]:NoExecute"],
    [{ taint: "worker-1=x:NoSchedule" }, "--taint=worker-1=x:NoSchedule: only NoExecute evicts pods"],
    [{ taint: "w=x:NoExecute" }, "--taint=w=x:NoExecute: there is no node w; see kubectl get nodes"],
  ])("is refused for %j", (flags, problem) => expect(() => fault(flags)).toThrow(problem));
});
