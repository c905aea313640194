/** The fast path for lease events, compared with parsing. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { scanLease } from "../../../services/platform/kube/watch/lease-scan.ts";
import { projectLease } from "../../../services/platform/kube/watch/projection.ts";
import { Interner } from "../../../services/structures/interner.ts";

interface LeaseEvent {
  readonly type: string;
  readonly object: { readonly metadata: { readonly resourceVersion?: unknown } };
}

const bytesOf = (event: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(event));

function plainly(event: LeaseEvent): unknown {
  const lease = projectLease(JSON.parse(JSON.stringify(event.object)), { interner: new Interner(), problem: () => {} });
  // A renewal does not change the owner, which is not read from it.
  if (lease === null) return null;
  const { ownerUid: _, ...renewal } = lease;
  return { object: renewal, resourceVersion: event.object.metadata.resourceVersion };
}

/** An event as Kubernetes writes it. */
function leaseEvent(
  fields: { readonly metadata?: object; readonly spec?: object; readonly type?: string } = {},
): LeaseEvent {
  const metadata = { name: "n-1", namespace: "kube-node-lease", uid: "u-1", resourceVersion: "42", ...fields.metadata };
  const spec = {
    holderIdentity: "n-1",
    leaseDurationSeconds: 40,
    renewTime: "2026-01-01T00:00:00.000001Z",
    ...fields.spec,
  };
  const object = { kind: "Lease", apiVersion: "coordination.k8s.io/v1", metadata, spec };
  return { type: fields.type ?? "MODIFIED", object };
}

/** Strings that resemble what the scan searches for. */
const tricky = fc.oneof(
  fc.string(),
  fc.constantFrom('"spec":{', '"renewTime":"x"', "}}}", '","resourceVersion":"7"', "\\", '"', "}}}\n", "renewTime"),
);
const name = fc.stringMatching(/^[a-z0-9][a-z0-9.-]{0,20}$/);
const renewTime = fc.oneof(
  fc.integer({ min: 0, max: 999_999 }).map((micros) => `2026-01-01T00:00:59.${String(micros).padStart(6, "0")}Z`),
  fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-01T02:00:00+02:00", "", "never", null),
);
const labels = fc.dictionary(fc.oneof(tricky, fc.constantFrom("resourceVersion", "renewTime", "spec", "name")), tricky);

describe("the lease scan", () => {
  test("reads what parsing reads, or leaves the line to it", () => {
    const spec = fc.record(
      {
        holderIdentity: fc.oneof(tricky, fc.constantFrom("n-1", "n-2")),
        leaseDurationSeconds: fc.integer(),
        acquireTime: tricky,
        renewTime,
        preferredHolder: tricky,
      },
      { requiredKeys: [] },
    );
    const metadata = fc.record(
      {
        name: fc.oneof(name, fc.constant("n-1")),
        namespace: fc.constant("kube-node-lease"),
        generateName: tricky,
        uid: tricky,
        resourceVersion: fc.oneof(fc.nat().map(String), tricky),
        labels,
        annotations: labels,
        ownerReferences: fc.array(fc.record({ name, renewTime })),
      },
      { requiredKeys: ["name"] },
    );
    let scans = 0;
    fc.assert(
      fc.property(metadata, spec, fc.constantFrom("ADDED", "MODIFIED", "DELETED"), (meta, leaseSpec, type) => {
        const event = leaseEvent({ type, metadata: meta, spec: leaseSpec });
        const scanned = scanLease(bytesOf(event));
        if (scanned === null) return;
        scans++;
        expect(type).toBe("MODIFIED");
        expect(scanned).toEqual(plainly(event));
      }),
      { numRuns: 2000 },
    );
    expect(scans).toBeGreaterThan(0);
  });

  test("reads every line of a kubelet's renewal", () => {
    fc.assert(
      fc.property(
        name,
        fc.nat(),
        fc.integer({ min: 0, max: 999_999 }),
        labels,
        (node, version, micros, annotations) => {
          const event = leaseEvent({
            metadata: {
              name: node,
              resourceVersion: String(version),
              creationTimestamp: "2026-01-01T00:00:00Z",
              annotations,
              ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node, uid: "u" }],
              managedFields: [{ manager: "kubelet", fieldsV1: { "f:spec": { "f:renewTime": {} } } }],
            },
            spec: { holderIdentity: node, renewTime: `2026-01-01T00:00:00.${String(micros).padStart(6, "0")}Z` },
          });
          expect(scanLease(bytesOf(event))).toEqual(plainly(event));
        },
      ),
    );
  });

  test("leaves a renewal by another holder, or by none, to parsing", () => {
    for (const holderIdentity of ["n-2", "n-", "n-11", "", '"', undefined])
      expect(scanLease(bytesOf(leaseEvent({ spec: { holderIdentity } })))).toBeNull();
    expect(plainly(leaseEvent({ spec: { holderIdentity: "n-2" } }))).toMatchObject({ object: { holder: "n-2" } });
  });

  test("leaves other events and other kinds to parsing", () => {
    for (const type of ["ADDED", "DELETED", "BOOKMARK", "ERROR"])
      expect(scanLease(bytesOf(leaseEvent({ type })))).toBeNull();
    expect(scanLease(bytesOf({ type: "MODIFIED", object: { kind: "Node", metadata: { name: "n" } } }))).toBeNull();
    expect(scanLease(bytesOf(leaseEvent()).subarray(0, 200))).toBeNull();
    expect(scanLease(new Uint8Array())).toBeNull();
  });

  test("leaves a lease without a renewal to parsing", () => {
    const event = leaseEvent({ spec: { renewTime: undefined } });
    expect(scanLease(bytesOf(event))).toBeNull();
    expect(plainly(event)).toMatchObject({ object: { node: "n-1", renewedAt: null } });
  });
});
