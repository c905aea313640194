/** A cluster to preview, on the embedded API and virtual time, and how a preview is held against what then happens. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { parse } from "yaml";
import type { Profile } from "../../../protocols/profile.ts";
import { type FaultFlags, faultOf } from "../../../services/cli/preview/fault.policy.ts";
import { previewOf } from "../../../services/cli/preview/preview.policy.ts";
import type { Preview } from "../../../services/cli/preview/preview.ts";
import { type Snapshot, takeSnapshot } from "../../../services/cli/preview/snapshot.ts";
import type { ConfiguredPolicy } from "../../../services/domain/node-policy.parse.ts";
import { EvictionWorld } from "../../support/eviction-world.ts";

const S = 1000;
const NO_FAULT: FaultFlags = { zone: "", node: [], down: false, taint: "" };
/** API stamps are whole seconds. */
const LATE_S = 1;
const STAGGER_MS = 610;
const CRD = join(import.meta.dirname, "../../../deploy/crd/nodepolicies.yaml");

/** The cluster as it is now. */
export function snapshotOf(world: EvictionWorld, configured: readonly ConfiguredPolicy[] = []): Snapshot {
  let taken: Snapshot | null = null;
  takeSnapshot({ kube: world.kube, clock: world.clock, configured, profile: world.profile }, (snapshot) => {
    taken = snapshot;
  });
  world.advance(0);
  if (taken === null) throw new Error("the snapshot was not taken");
  return taken;
}

/** A cluster of a large zone, a small one and one that stays up, whose nodes have a pod each. */
export class PreviewWorld extends EvictionWorld {
  /** With policies, it runs their service too. */
  constructor(profile: Partial<Profile>, policies: readonly ConfiguredPolicy[] | null) {
    super(profile, policies);
    for (const [zone, size] of [["a", 6] as const, ["b", 4] as const, ["c", 4] as const]) {
      for (let index = 0; index < size; index++) {
        const node = `${zone}-${index}`;
        this.register(node, { "topology.kubernetes.io/zone": zone, pool: `pool-${zone}` });
        this.addTolerantPod(node, `web-${node}`);
        // No two kubelets renew their leases at the same time, so that their order is certain.
        this.advance(STAGGER_MS);
      }
    }
    this.addTolerantPod("a-0", "forever", [{ operator: "Exists" }]);
    this.addTolerantPod("a-0", "never", []);
    this.addTolerantPod("a-0", "short", [{ operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 }]);
  }

  /** Creates an object. */
  post(path: string, object: unknown): void {
    const headers = { "content-type": "application/json", accept: "application/json" };
    const request = { method: "POST", path, headers, body: JSON.stringify(object) };
    this.api.wire.send(request, { response: () => {}, data: () => {}, end: () => {}, failed: () => {} });
    this.advance(0);
  }
}

/** The cluster, a minute old, under Vigil. */
export function previewWorld(profile: Partial<Profile> = {}): EvictionWorld {
  const world = new PreviewWorld(profile, null);
  world.run();
  world.advance(64 * S);
  return world;
}

/** The same with a policy for the nodes of zone a; `fieldsAt` gets the present instant of the API. */
export function policyWorld(fieldsAt: (wallMs: number) => object, profile: Partial<Profile> = {}): PreviewWorld {
  const world = new PreviewWorld(profile, []);
  world.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", parse(readFileSync(CRD, "utf8")));
  world.advance(5 * S);
  world.run();
  const spec = { selector: { matchLabels: { pool: "pool-a" } }, ...fieldsAt(world.clock.wallMs()) };
  const policy = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name: "pool" }, spec };
  world.post("/apis/vigil.io/v1alpha1/nodepolicies", policy);
  world.advance(64 * S);
  return world;
}

/** What would follow from a fault now; `configured` are the policies of its configuration. */
export function previewedOn(
  world: EvictionWorld,
  flags: Partial<FaultFlags>,
  configured: readonly ConfiguredPolicy[] = [],
): ReturnType<typeof previewOf> {
  const snapshot = snapshotOf(world, configured);
  return previewOf(snapshot, faultOf({ ...NO_FAULT, ...flags })(snapshot.nodes), world.profile);
}

/**
 * Holds every taint and deletion of the cluster after `fromMs` against the preview, to within some seconds. A pod of
 * which only the earliest instant is known may be deleted later, or not at all.
 */
export function expectToHold(
  preview: Pick<Preview, "nodes" | "pods">,
  world: EvictionWorld,
  fromMs: number,
  lateS = LATE_S,
): void {
  const seenS = (seen: readonly { readonly name: string; readonly atMs: number }[]) =>
    seen.filter(({ atMs }) => atMs >= fromMs).map(({ name, atMs }) => ({ name, atS: (atMs - fromMs) / S }));
  const tainted = preview.nodes.flatMap(({ node, admittedAfterMs }) =>
    admittedAfterMs === null ? [] : [{ name: node, atS: admittedAfterMs / S }],
  );
  const earliest = new Map(
    preview.pods.flatMap(({ name, earliestAfterMs: ms }) => (ms === undefined ? [] : [[name, ms] as const])),
  );
  const deleted = preview.pods.flatMap(({ name, deletedAfterMs }) =>
    deletedAfterMs === null || earliest.has(name) ? [] : [{ name, atS: deletedAfterMs / S }],
  );
  const seen = seenS(world.deleted);
  for (const { name, atS } of seen) {
    expect(atS, `${name} was deleted early`).toBeGreaterThanOrEqual((earliest.get(name) ?? 0) / S - lateS);
  }
  for (const [previewed, really] of [
    [tainted, seenS(world.tainted)],
    [deleted, seen.filter(({ name }) => !earliest.has(name))],
  ] as const) {
    expect(previewed.map(({ name }) => name).sort()).toEqual(really.map(({ name }) => name).sort());
    for (const { name, atS } of really) {
      const ahead = previewed.find((each) => each.name === name)?.atS ?? Number.NaN;
      expect(Math.abs(ahead - atS), `${name}: previewed at ${ahead} s, seen at ${atS} s`).toBeLessThanOrEqual(lateS);
    }
  }
}
