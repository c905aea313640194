/** The path of leases is broken while kubelets still post statuses: where Vigil reports that, and when it does not. */
import { describe, expect, test } from "vitest";
import { LEASE_NAMESPACE } from "../../protocols/names.ts";
import { probeAnswer, readinessOf } from "../../services/console/readiness.policy.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { ExplainedWorld } from "../support/explained-world.ts";
import type { KubeletOptions } from "../support/test-kubelet.ts";

const S = 1000;
const STATUS_PERIOD_MS = 300 * S;
const SENTENCE = /no lease of any of (\d+) nodes was renewed since (\S+), statuses still arrive/;

/** A cluster whose kubelets post their statuses one after the other, as those that were started at different times. */
class LeasePathWorld extends ExplainedWorld {
  readonly names: readonly string[];

  constructor(nodes: number, behaviour: Partial<KubeletOptions> = {}) {
    super([]);
    this.names = Array.from({ length: nodes }, (_, index) => `n-${index}`);
    for (const name of this.names) {
      this.register(name, {}, { statusPeriodMs: STATUS_PERIOD_MS, ...behaviour });
      this.advance(STATUS_PERIOD_MS / nodes);
    }
    this.run();
    this.advance(60 * S);
  }

  refuseLeases(code: number): () => void {
    const isRenewal = ({ verb, resource }: Call): boolean => verb === "patch" && resource.plural === "leases";
    return this.api.faults.add({ fault: { kind: "status", code }, when: isRenewal });
  }

  loseLeases(): void {
    this.refuseLeases(404);
    for (const name of this.names) {
      this.write({ verb: "delete", ref: { kind: "Lease", namespace: LEASE_NAMESPACE, name }, urgency: 0 });
    }
  }

  warnings(): string[] {
    return this.logged().flatMap(({ level, message }) => (level === "warn" && SENTENCE.test(message) ? [message] : []));
  }

  readyz(): string {
    const { watchHealth } = this.reader.overview();
    return probeAnswer("readyz", readinessOf({ busConnected: true, watchHealth, own: [] }), true).text;
  }
}

describe("with leases refused", () => {
  test.each([403, 503])("a %i is named once in the log", (code) => {
    const world = new LeasePathWorld(60);
    const sinceAt = world.clock.wallMs();
    world.refuseLeases(code);
    world.advance(200 * S);
    expect(world.warnings()).toHaveLength(1);
    const [, nodes, renewedAt = ""] = SENTENCE.exec(world.warnings()[0] ?? "") ?? [];
    expect(nodes).toBe("60");
    expect(Math.abs(Date.parse(renewedAt) - sinceAt)).toBeLessThan(11 * S);
  });

  test("unknown nodes are explained as perhaps alive", () => {
    const world = new LeasePathWorld(60);
    world.refuseLeases(403);
    world.advance(100 * S);
    const unknown = world.names.find((name) => world.conditions(name).includes("Ready=Unknown")) ?? "";
    expect(world.reader.explainNode(unknown)?.sentences.join(" ")).toMatch(SENTENCE);
    expect(world.reader.explainZone("(no zone)")?.sentences.join(" ")).toMatch(SENTENCE);
  });

  test("the probe names it, until a lease is renewed", () => {
    const world = new LeasePathWorld(60);
    expect(world.readyz()).toContain("[+]lease-path ok\n");
    const mended = world.refuseLeases(403);
    world.advance(100 * S);
    expect(world.readyz()).toMatch(/\[\+\]lease-path ok: no lease of any of 60 nodes/);
    mended();
    world.advance(20 * S);
    expect(world.readyz()).toContain("[+]lease-path ok\n");
  });

  test("a restart does not change since when", () => {
    const world = new LeasePathWorld(60);
    const sinceAt = world.clock.wallMs();
    world.refuseLeases(403);
    world.advance(100 * S);
    world.crash(60 * S);
    world.advance(100 * S);
    const [, , renewedAt = ""] = SENTENCE.exec(world.warnings()[0] ?? "") ?? [];
    expect(Math.abs(Date.parse(renewedAt) - sinceAt)).toBeLessThan(11 * S);
  });

  test("leases that are gone are named too", () => {
    const world = new LeasePathWorld(60);
    world.loseLeases();
    world.advance(100 * S);
    expect(world.warnings()).toHaveLength(1);
  });

  test("three nodes are enough", () => {
    const world = new LeasePathWorld(3);
    world.refuseLeases(403);
    world.advance(300 * S);
    expect(world.warnings()).toHaveLength(1);
  });
});

describe("nothing is said of the path", () => {
  test("when nothing arrives", () => {
    const world = new LeasePathWorld(60);
    world.silence(world.names);
    world.advance(900 * S);
    expect(world.warnings()).toEqual([]);
  });

  test("when the API server is away", () => {
    const world = new LeasePathWorld(60);
    const back = world.api.faults.refuse();
    world.advance(200 * S);
    back();
    world.advance(300 * S);
    expect(world.warnings()).toEqual([]);
  });

  test("of two nodes", () => {
    const world = new LeasePathWorld(2);
    world.refuseLeases(403);
    world.advance(900 * S);
    expect(world.warnings()).toEqual([]);
  });

  test("where nodes never had leases", () => {
    const world = new LeasePathWorld(20, { leasePeriodMs: null, statusPeriodMs: 10 * S });
    world.advance(900 * S);
    expect(world.warnings()).toEqual([]);
  });

  test("while one lease is renewed", () => {
    const world = new LeasePathWorld(20);
    world.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ verb, resource, name }) => verb === "patch" && resource.plural === "leases" && name !== "n-7",
    });
    world.advance(900 * S);
    expect(world.warnings()).toEqual([]);
  });
});
