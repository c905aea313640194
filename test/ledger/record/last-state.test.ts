/** Which messages are stored as an object's last state: those that change it, under a key that the bucket accepts. */
import { describe, expect, test } from "vitest";
import type { AnyMessage, BodyOf, MessageType } from "../../../protocols/messages.ts";
import { lastStateOf } from "../../../services/ledger/record/last-state.policy.ts";
import { ClusterState } from "../../../services/ledger/state/cluster-state.ts";
import { observedNode } from "../../support/observed-objects.ts";
import { donePod, judgedNode, judgedPod, judgedZone } from "../ledger-world.ts";

const message = <T extends MessageType>(type: T, body: BodyOf<T>): AnyMessage =>
  ({ type, id: "1", source: "test@m-0", at: 0, cause: null, body }) as AnyMessage;
const after = (...told: AnyMessage[]): ClusterState => {
  const facts = new ClusterState();
  for (const each of told) facts.apply(each);
  return facts;
};

describe("an object's last state", () => {
  test("is stored under its type and name, encoded as a NATS key", () => {
    const { key } = lastStateOf(message("judged.node", judgedNode("n.1")), new ClusterState()) ?? {};
    expect(key).toBe("judged.node.n=002e1");
    const zone = lastStateOf(message("judged.zone", judgedZone({ zone: "" })), new ClusterState());
    expect(zone).toEqual({ key: "judged.zone._", action: "keep" });
  });

  test("is stored again only when it changes", () => {
    const known = after(message("judged.node", judgedNode("n-1")), message("judged.zone", judgedZone()));
    expect(lastStateOf(message("judged.node", judgedNode("n-1", { heartbeatAt: 99 })), known)).toBeNull();
    expect(lastStateOf(message("judged.zone", judgedZone({ tokens: 0.3 })), known)).toBeNull();
    expect(lastStateOf(message("judged.node", judgedNode("n-1", { ready: "Unknown" })), known)?.action).toBe("keep");
    expect(lastStateOf(message("judged.node", judgedNode("n-1", { uid: "new" })), known)?.action).toBe("keep");
    expect(lastStateOf(message("judged.zone", judgedZone({ halted: true })), known)?.action).toBe("keep");
  });

  test("is deleted with its object, or when a pod may stay", () => {
    const gone = lastStateOf(message("observed.gone", { node: "n-1", uid: "uid-n-1" }), new ClusterState());
    expect(gone).toEqual({ key: "judged.node.n-1", action: "forget" });
    expect(lastStateOf(message("judged.pod", judgedPod()), new ClusterState())?.action).toBe("keep");
    const spared = lastStateOf(message("judged.pod", judgedPod({ eviction: "none" })), new ClusterState());
    expect(spared).toEqual({ key: "judged.pod.default.web", action: "forget" });
    expect(lastStateOf(message("done.write", donePod("asked.eviction")), new ClusterState())).toEqual(spared);
    const denied = donePod("asked.eviction", { outcome: "denied" });
    expect(lastStateOf(message("done.write", denied), new ClusterState())).toBeNull();
  });

  test("is not in other messages", () => {
    expect(lastStateOf(message("observed.node", observedNode("n-1")), new ClusterState())).toBeNull();
  });
});
