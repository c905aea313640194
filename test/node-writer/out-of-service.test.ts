/** What the patch that declares a node out of service rests on: what changes between its read and the patch ends it. */
import { describe, expect, test } from "vitest";
import type { DownProof } from "../../protocols/objects.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { downProofText } from "../../services/domain/down-proof.ts";
import { nodePolicyOf } from "../../services/domain/node-policy.parse.ts";
import { policySet } from "../../services/domain/node-policy.ts";
import { OUT_OF_SERVICE } from "../../services/domain/out-of-service.ts";
import { proofMetadata } from "../../services/platform/kube/proof-seal.ts";
import { fixedPolicies } from "../../services/platform/node-policies/policy-receiver.ts";
import { NODE, Scene, UNREACHABLE } from "./node-writer-scene.ts";

const S = 1000;
const OUT = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute" };
const POLICIES = policySet([nodePolicyOf("gpu", { selector: {}, outOfService: { after: "3m", proof: ["Manual"] } })]);

/** A node that was admitted for eviction, is silent for ten minutes and was proved to be off a minute later. */
class ProvedScene extends Scene {
  readonly silentAt: number;
  readonly provedAt: number;

  constructor() {
    super({}, { policies: fixedPolicies(POLICIES) });
    this.silentAt = Math.floor(this.cluster.clock.wallMs() / S) * S;
    this.provedAt = this.silentAt + 60 * S;
    this.cluster.advance(600 * S);
    this.fallSilent(this.silentAt);
    this.cluster.patch(NODE, { metadata: proofMetadata(this.proofOf(this.provedAt)) });
    this.cluster.patch(NODE, { spec: { taints: [UNREACHABLE] } });
  }

  proofOf(at: number): string {
    const proof: DownProof = { proof: "Manual", by: "oncall", at, reason: "power off" };
    return downProofText(proof);
  }

  annotate(annotations: Readonly<Record<string, string | null>>): void {
    this.cluster.patch(NODE, { metadata: { annotations } });
  }

  fallSilent(at: number): void {
    const conditions = [{ type: "Ready", status: "Unknown", lastTransitionTime: apiTime(at) }];
    this.cluster.patch(NODE, { status: { conditions } }, "status");
  }

  /** Requests the taint, and lets something happen while the first patch is on its way. */
  declare(meanwhile: (scene: ProvedScene) => void): void {
    const ask = this.taintAsk({
      add: [OUT],
      ready: "Unknown",
      outOfService: { provedAt: this.provedAt, leaseRenewedAt: null },
    });
    this.askSlowly(ask, () => {
      expect(this.calls).toEqual(["get nodes", "get leases", "patch nodes"]);
      meanwhile(this);
    });
  }

  isOut(): boolean {
    return this.cluster.taints("node-1").includes(`${OUT.key}:${OUT.effect}`);
  }
}

describe("a proved node is not declared out of service", () => {
  test.each<[string, (scene: ProvedScene) => void, readonly string[]]>([
    [
      "its proof is replaced by one from before its silence",
      (scene) => scene.cluster.patch(NODE, { metadata: proofMetadata(scene.proofOf(scene.silentAt - 600 * S)) }),
      ["conflict…", "refused"],
    ],
    [
      "its proof is withdrawn",
      (scene) => scene.cluster.patch(NODE, { metadata: proofMetadata(null) }),
      ["conflict…", "refused"],
    ],
    [
      "it returns and falls silent again",
      (scene) => scene.fallSilent(scene.provedAt + 60 * S),
      ["conflict…", "refused"],
    ],
    [
      "a newer taint was on it",
      (scene) => scene.annotate({ "vigil.v1/out-of-service": apiTime(scene.provedAt + 60 * S) }),
      ["conflict…", "refused"],
    ],
  ])("if meanwhile %s", (_what, meanwhile, outcomes) => {
    const scene = new ProvedScene();
    scene.declare(meanwhile);
    expect(scene.isOut()).toBe(false);
    expect(scene.outcomes()).toEqual(outcomes);
  });
});

describe("a proved node is declared out of service", () => {
  test.each<[string, (scene: ProvedScene) => void]>([
    ["nothing changes", () => {}],
    ["somebody labels it", (scene) => scene.cluster.patch(NODE, { metadata: { labels: { a: "b" } } })],
    ["somebody annotates it", (scene) => scene.annotate({ note: "seen" })],
  ])("if meanwhile %s", (_what, meanwhile) => {
    const scene = new ProvedScene();
    scene.declare(meanwhile);
    expect(scene.isOut()).toBe(true);
    expect(scene.outcomes()).toEqual(["ok"]);
  });
});

describe("of a node that is out of service", () => {
  const BY_OTHERS = "2026-01-01T00:00:00Z";

  /** The node carries Vigil's taint, or with another stamp somebody else's. */
  function declared(stamp?: string): ProvedScene {
    const scene = new ProvedScene();
    const own = apiTime(scene.provedAt + 180 * S);
    const taints = [UNREACHABLE, { ...OUT_OF_SERVICE, timeAdded: stamp ?? own }];
    scene.cluster.patch(NODE, { spec: { taints }, metadata: { annotations: { "vigil.v1/out-of-service": own } } });
    return scene;
  }

  function takeOff(scene: ProvedScene, resourceVersion?: string): readonly string[] {
    const version = resourceVersion === undefined ? {} : { resourceVersion };
    scene.ask("asked.taint", scene.taintAsk({ add: [], remove: [OUT], ready: "Unknown", why: "healing", ...version }));
    scene.cluster.advance(5 * S);
    return scene.outcomes();
  }

  test.each([undefined, "1"])("the taint goes with its proof: %#", (version) => {
    const scene = declared();
    scene.cluster.patch(NODE, { metadata: proofMetadata(null) });
    expect(takeOff(scene, version)).toEqual(["ok"]);
    expect(scene.isOut()).toBe(false);
    expect(scene.cluster.records("node-1")).toEqual({});
    expect(takeOff(scene)).toEqual(["ok", "ok"]);
  });

  test("the taint stays while it is proved and silent", () => {
    const scene = declared();
    expect(takeOff(scene)).toEqual(["refused"]);
    expect(scene.isOut()).toBe(true);
  });

  test("the taint of another client stays", () => {
    const scene = declared(BY_OTHERS);
    scene.cluster.patch(NODE, { metadata: proofMetadata(null) });
    expect(takeOff(scene)).toEqual(["refused"]);
    expect(scene.isOut()).toBe(true);
  });
});
