/** Policies that change while a request about a node is under way. */
import { expect, test } from "vitest";
import { ConditionType } from "../../protocols/names.ts";
import { downProofText } from "../../services/domain/down-proof.ts";
import { proofMetadata } from "../../services/platform/kube/proof-seal.ts";
import { HandPolicies, type PolicyFields } from "../support/hand-policies.ts";
import { NODE, Scene, UNREACHABLE } from "./node-writer-scene.ts";

const S = 1000;
const TAINT = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute" };
const OUT_OF_SERVICE: PolicyFields = { outOfService: { after: "3m", proof: ["Manual"] } };
/** A field that needs another condition of each node than was kept so far. */
const HOLDS: PolicyFields = { maintenance: { hold: ["DrainInProgress"], atMost: "4h" } };

/** Requests that a node is declared out of service; the policies change while its lease is read. */
function outOfService(after: PolicyFields): Scene {
  const policies = new HandPolicies(OUT_OF_SERVICE);
  const scene = new Scene({}, { policies });
  const { cluster, kubelet } = scene;
  cluster.patch(NODE, { metadata: { labels: { "topology.kubernetes.io/zone": "a" } } });
  kubelet.report(ConditionType.ready, "Unknown");
  cluster.advance(240 * S);
  const provedAt = cluster.clock.wallMs();
  const proof = { proof: "Manual" as const, by: "oncall", at: provedAt, reason: "off" };
  cluster.patch(NODE, { metadata: proofMetadata(downProofText(proof)), spec: { taints: [UNREACHABLE] } });
  const isLease = ({ resource }: { resource: { plural: string } }): boolean => resource.plural === "leases";
  cluster.api.faults.add({ fault: { kind: "latency", answerMs: 500 }, when: isLease });
  const request = { add: [TAINT], ready: "Unknown" as const, outOfService: { provedAt, leaseRenewedAt: null } };
  scene.ask("asked.taint", scene.taintAsk(request));
  cluster.advance(100);
  policies.put(after);
  cluster.advance(1 * S);
  return scene;
}

const lastOf = ({ cluster }: Scene) => cluster.published("done.write").at(-1)?.body;

test("policies that change during the read of a lease need no second request", () => {
  expect(lastOf(outOfService({ ...OUT_OF_SERVICE, ...HOLDS }))).toMatchObject({ outcome: "ok" });
});

test("policies that end meanwhile what was requested refuse it", () => {
  expect(lastOf(outOfService(HOLDS))).toMatchObject({
    outcome: "refused",
    detail: "no policy of node node-1 has outOfService",
  });
});
