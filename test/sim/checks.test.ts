/** The checks of judgements and requests catch what they are for, and let pass what comes close to it. */
import { describe, expect, it } from "vitest";
import type { BodyOf, Message, MessageType } from "../../protocols/messages.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { storedAs } from "../../services/apiserver/resources.ts";
import { Checks } from "./checks.ts";
import type { CheckedNode, CheckedPod } from "./invariants.ts";
import { requestProblem } from "./requests.ts";
import { drawSwarm } from "./swarm.ts";
import { World } from "./world.ts";

const S = 1000;
const { nodeMonitorGraceMs } = STANDARD_PROFILE;
const UNREACHABLE = "node.kubernetes.io/unreachable";

/** A fleet of one process in a world without faults, and nodes that the checks are told of by hand. */
class Stage {
  readonly world: World;
  readonly checks: Checks;
  /** What the process has behind it. */
  readonly process = {
    name: "p1",
    ownMs: 0,
    services: [],
    isFree: true,
    lastStop: null,
    lastPause: null,
    lastSilence: null,
  };

  constructor() {
    const { plot: _, hindrance: __, ...drawn } = drawSwarm(1);
    const profile = { ...STANDARD_PROFILE, nodeEvictionsPerSecond: 0.5 };
    this.world = new World({ ...drawn, plot: null, zones: [], faults: new Set(), profile });
    this.checks = new Checks({
      world: this.world,
      processes: () => [this.process],
      clockSpreadMs: () => 0,
      isDrawn: true,
    });
  }

  pass(ms: number): void {
    this.world.clock.advance(ms);
  }

  show(name: string, ready: string, taintKeys: readonly string[] = []): CheckedNode {
    const before = this.#shown.get(name) ?? null;
    const taints = taintKeys.map((key) => ({ key, effect: "NoExecute" }));
    const status = { conditions: [{ type: "Ready", status: ready }] };
    const after = { metadata: { name, uid: `uid-${name}` }, spec: { taints }, status };
    this.#shown.set(name, after);
    this.checks.node(before, after, false);
    return after;
  }

  renew(name: string): void {
    this.world.signs.note(name, "lease", this.world.clock.wallMs());
  }

  condemn(name: string): () => void {
    const unknown = { type: "Ready", status: "Unknown" as const, reason: "", message: "", heartbeatAt: null };
    const basis = { leaseRenewedAt: null, statusHeartbeatAt: null };
    const body = { node: name, uid: `uid-${name}`, resourceVersion: "1", basis, conditions: [unknown] };
    return () => this.checks.verdicts.check(message("asked.condition", body), "p1", "0");
  }

  announce(size: number, notReady: number, halted = false): Message<"judged.zone"> {
    const pace = { taintsPerSecond: 0, tokens: 0, queueLength: 0 };
    return message("judged.zone", { zone: "", state: "Normal" as const, since: 0, size, notReady, halted, ...pace });
  }

  grant(name: string): () => void {
    const seen = { node: name, uid: `uid-${name}`, resourceVersion: "1", taints: [], add: [], remove: [] };
    return () => this.checks.turns.ask(message("asked.taint", { ...seen, ready: "Unknown", why: "turn" }));
  }

  readonly #shown = new Map<string, CheckedNode>();
}

function message<T extends MessageType>(type: T, body: BodyOf<T>): Message<T> {
  return { type, id: "p1", source: "p1", at: 0, cause: null, body };
}

describe("a verdict", () => {
  it("at exactly the grace is caught, a millisecond later it is right", () => {
    const stage = new Stage();
    stage.show("a", "True");
    stage.renew("a");
    stage.pass(nodeMonitorGraceMs);
    expect(stage.condemn("a")).toThrow("Unknown after");
    stage.pass(1);
    expect(stage.condemn("a")).not.toThrow();
  });

  it("is caught within a grace of a stop of its process", () => {
    const stage = new Stage();
    const lastStop = { endedMs: 100 * S, lastedMs: 65 * S };
    stage.show("a", "True");
    stage.pass(100 * S + nodeMonitorGraceMs / 2);
    expect(stage.condemn("a")).not.toThrow();
    Object.assign(stage.process, { lastStop });
    expect(stage.condemn("a")).toThrow("had seen for");
  });

  it("within a grace of a stop is right where its process has gained the shard since", () => {
    const stage = new Stage();
    stage.show("a", "True");
    stage.pass(100 * S + nodeMonitorGraceMs / 2);
    Object.assign(stage.process, { lastStop: { endedMs: 100 * S, lastedMs: 65 * S } });
    stage.checks.eyes.gained("0", "p1");
    expect(stage.condemn("a")).not.toThrow();
  });

  it("is caught within a grace of a halt of its zone", () => {
    const stage = new Stage();
    stage.show("a", "True");
    stage.pass(100 * S);
    for (const isHalted of [true, false]) stage.checks.verdicts.hear(stage.announce(1, 1, isHalted), "p1");
    stage.pass(nodeMonitorGraceMs - 1);
    expect(stage.condemn("a")).toThrow("after a halt");
    stage.pass(1);
    expect(stage.condemn("a")).not.toThrow();
  });
});

describe("an announcement of a zone", () => {
  const announced = (size: number, notReady: number, halted = false) => {
    const stage = new Stage();
    for (const [name, ready] of [["a", "True"] as const, ["b", "Unknown"] as const]) {
      stage.renew(name);
      stage.show(name, ready);
    }
    stage.pass(10 * S);
    return () => stage.checks.zoneClaims.check(stage.announce(size, notReady, halted));
  };

  it.each([
    ["of a node too few", 1, 1, false, "it has had"],
    ["of a node too many", 3, 1, false, "it has had"],
    ["of too few that are not ready", 2, 0, false, "have not been ready"],
    ["of too many that are not ready", 2, 2, false, "have not been ready"],
    ["of a halt while a node is up", 2, 1, true, "has been up"],
  ])("%s is caught", (_what, size, notReady, halted, problem) => {
    expect(announced(size, notReady, halted)).toThrow(problem);
  });

  it("that is as old as a stop of its process passes while that goes on again, and later does not", () => {
    const stage = new Stage();
    for (const name of ["a", "b"]) {
      stage.renew(name);
      stage.show(name, "True");
    }
    stage.pass(100 * S);
    stage.checks.node(stage.show("b", "True"), stage.show("b", "True"), true);
    stage.pass(65 * S);
    const claim = () => stage.checks.zoneClaims.check(stage.announce(2, 0));
    expect(claim).toThrow("it has had");
    Object.assign(stage.process, { lastPause: { endedMs: stage.world.clock.monotonicMs(), lastedMs: 65 * S } });
    expect(claim).not.toThrow();
    stage.pass(10 * S);
    expect(claim).toThrow("it has had");
  });

  it("that is true passes, and so does one that a moment ago was", () => {
    expect(announced(2, 1)).not.toThrow();
    const stage = new Stage();
    stage.renew("a");
    stage.show("a", "True");
    stage.pass(10 * S);
    stage.show("b", "Unknown");
    for (const size of [1, 2])
      expect(() => stage.checks.zoneClaims.check(stage.announce(size, size - 1))).not.toThrow();
  });
});

describe("a turn", () => {
  it("is caught too soon after one whose taint has landed", () => {
    const stage = new Stage();
    for (const name of ["a", "b"]) stage.show(name, "Unknown");
    stage.grant("a")();
    stage.pass(10);
    stage.checks.turns.land(stage.show("a", "Unknown", [UNREACHABLE]));
    expect(stage.grant("b")).not.toThrow();
    const slow = { ...stage.world.swarm.profile, nodeEvictionsPerSecond: 0.1 };
    Object.assign(stage.world.swarm, { profile: slow });
    stage.pass(3 * S);
    expect(stage.grant("b")).toThrow("which had landed");
    stage.pass(7 * S);
    expect(stage.grant("b")).not.toThrow();
  });

  it("is missed when nodes wait and none comes", () => {
    const stage = new Stage();
    stage.pass(100 * S);
    stage.show("well", "True");
    for (const name of ["a", "b"]) stage.show(name, "Unknown");
    const look = () => {
      stage.pass(5 * S);
      stage.checks.turns.look();
    };
    for (let looks = 0; looks < 2; looks++) look();
    expect(look).toThrow("while nodes waited");
  });
});

describe("a turn of a node that has just joined", () => {
  it("is not missed yet", () => {
    const stage = new Stage();
    stage.pass(100 * S);
    stage.show("well", "True");
    const join = (name: string) => () => {
      stage.pass(5 * S);
      stage.show(name, "False");
      stage.checks.turns.look();
      stage.show(name, "True");
    };
    for (const name of ["a", "b", "c", "d"]) expect(join(name)).not.toThrow();
  });
});

describe("a field that others write too", () => {
  const pod = (status: string): CheckedPod => ({
    metadata: { namespace: "default", name: "p", uid: "uid-p", creationTimestamp: "" },
    spec: { nodeName: "a" },
    status: { conditions: [{ type: "Ready", status }] },
  });

  it("may be changed back three times while its node stays as it is", () => {
    const stage = new Stage();
    const [bare, tainted] = [stage.show("a", "Unknown"), stage.show("a", "Unknown", [UNREACHABLE])];
    const round = (writer: string, [from, to]: readonly [CheckedNode, CheckedNode]) => {
      stage.world.writer = writer;
      stage.checks.node(from, to, false);
    };
    const fight = () => {
      round("", [tainted, bare]);
      round("p1", [bare, tainted]);
    };
    for (let rounds = 0; rounds < 3; rounds++) fight();
    expect(fight).toThrow("changed back 4 times");
  });

  it("counts for a pod's readiness too", () => {
    const stage = new Stage();
    const name = "a";
    const metadata = { name };
    const status = { conditions: [{ type: "Ready", status: "False" }] };
    stage.world.api.registry.create(storedAs("nodes"), "", { apiVersion: "v1", kind: "Node", metadata, status });
    const write = (writer: string, from: string, to: string) => {
      stage.world.writer = writer;
      const [before, now] = [pod(from), pod(to)].map((object) => ({ json: JSON.stringify(object) }));
      stage.checks.pod({ type: "MODIFIED", before, now } as never);
    };
    const fight = () => {
      write("", "False", "True");
      write("p1", "True", "False");
    };
    for (let rounds = 0; rounds < 3; rounds++) fight();
    expect(fight).toThrow("changed back 4 times");
  });
});

describe("a request to write", () => {
  const problem = (verb: string, body: unknown) =>
    requestProblem({ verb, resource: storedAs("nodes"), name: "a", body: JSON.stringify(body) } as never);

  it.each([
    ["a patch", "patch", { spec: {}, metadata: { resourceVersion: "1" } }],
    ["a JSON patch", "patch", [{ op: "test", path: "/metadata/uid" }]],
    ["a deletion", "delete", { preconditions: { resourceVersion: "1" } }],
  ])("that names no UID is caught: %s", (_what, verb, body) => {
    expect(problem(verb, body)).toContain("whatever the UID");
  });

  it.each([
    ["a patch", "patch", { metadata: { uid: "u" } }],
    ["a JSON patch", "patch", [{ op: "test", path: "/metadata/uid", value: "u" }]],
    ["a deletion", "delete", { preconditions: { uid: "u" } }],
    ["a read", "get", null],
  ])("that names one is right: %s", (_what, verb, body) => {
    expect(problem(verb, body)).toBeNull();
  });
});
