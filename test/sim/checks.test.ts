/** The checks of judgements and requests catch the breaches that they are for and let close cases pass. */
import { describe, expect, it } from "vitest";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { storedAs } from "../../services/sandbox/apiserver/resources.ts";
import { S, Stage } from "./checks.stage.ts";
import type { CheckedNode, CheckedPod } from "./invariants.ts";
import { requestProblem } from "./requests.ts";
import type { FaultClass } from "./swarm.ts";

const { nodeMonitorGraceMs, pulseTimeoutMs } = STANDARD_PROFILE;
const UNREACHABLE = "node.kubernetes.io/unreachable";

describe("a verdict", () => {
  it("at exactly the grace is caught, and a millisecond later is right", () => {
    const stage = new Stage();
    stage.show("a", "True");
    stage.renew("a");
    stage.pass(nodeMonitorGraceMs);
    expect(stage.findUnknown("a")).toThrow("Unknown after");
    stage.pass(1);
    expect(stage.findUnknown("a")).not.toThrow();
  });

  it("is caught within a grace of a stop of its process", () => {
    const stage = new Stage();
    const lastStop = { endedMs: 100 * S, lastedMs: 65 * S };
    stage.show("a", "True");
    stage.pass(100 * S + nodeMonitorGraceMs / 2);
    expect(stage.findUnknown("a")).not.toThrow();
    Object.assign(stage.process, { lastStop });
    expect(stage.findUnknown("a")).toThrow("had seen for");
  });

  it("within a grace of a stop is right if the shard came since", () => {
    const stage = new Stage();
    stage.show("a", "True");
    stage.pass(100 * S + nodeMonitorGraceMs / 2);
    Object.assign(stage.process, { lastStop: { endedMs: 100 * S, lastedMs: 65 * S } });
    stage.checks.watchViews.gained("0", "p1");
    expect(stage.findUnknown("a")).not.toThrow();
  });

  it("is caught within a grace of a halt of its zone", () => {
    const stage = new Stage();
    stage.show("a", "True");
    stage.pass(100 * S);
    for (const isHalted of [true, false]) stage.checks.verdicts.hear(stage.announce(1, 1, isHalted), "p1");
    stage.pass(nodeMonitorGraceMs - 1);
    expect(stage.findUnknown("a")).toThrow("after a halt");
    stage.pass(1);
    expect(stage.findUnknown("a")).not.toThrow();
  });

  it.each([
    ["before a halt is caught", 99, "after a halt"],
    ["in the middle of a halt knows nothing of it", 101, null],
    ["after a halt knows nothing of it", 103, null],
  ])("of a process that died %s", (_when, diedS, caught) => {
    const stage = new Stage();
    stage.show("a", "True");
    stage.pass(100 * S);
    const hear = (isHalted: boolean): void => {
      if (stage.world.clock.monotonicMs() >= diedS * S) Object.assign(stage.process, { lastDeathMs: diedS * S });
      stage.checks.verdicts.hear(stage.announce(1, 1, isHalted), "p1");
    };
    hear(true);
    stage.pass(2 * S);
    hear(false);
    stage.pass(nodeMonitorGraceMs - 1);
    Object.assign(stage.process, { lastDeathMs: diedS * S });
    if (caught === null) expect(stage.findUnknown("a")).not.toThrow();
    else expect(stage.findUnknown("a")).toThrow(caught);
  });

  it("reached as its zone's halt ended may be asked for again", () => {
    const stage = new Stage();
    stage.show("a", "True");
    stage.pass(100 * S);
    for (const isHalted of [true, false]) stage.checks.verdicts.hear(stage.announce(1, 1, isHalted), "p1");
    expect(stage.findUnknown("a")).not.toThrow();
    stage.pass(nodeMonitorGraceMs - 1);
    expect(stage.findUnknown("a")).not.toThrow();
  });
});

describe("a verdict after a halt", () => {
  const timeoutS = pulseTimeoutMs / S;
  /**
   * Finds a node silent a millisecond before a full grace has passed since a second. Before that p1 receives
   * announcements, such as "100 p2 halted 7": at second 100 the owner p2 announces a halt that began at its own second
   * 7.
   */
  const verdict = (fromS: number, heard: string) => {
    const stage = new Stage();
    stage.show("a", "True");
    for (const words of heard.split(", ")) {
      const [atS, source = "", state, since] = words.split(" ");
      stage.pass(Number(atS) * S - stage.world.clock.monotonicMs());
      stage.process.ownMs = Number(atS) * S;
      const { body, ...rest } = stage.announce(1, 1, state === "halted");
      stage.checks.verdicts.hear({ ...rest, source, body: { ...body, since: Number(since) } }, "p1");
    }
    stage.pass(fromS * S + nodeMonitorGraceMs - 1 - stage.world.clock.monotonicMs());
    return stage.findUnknown("a");
  };

  it.each([
    ["its owner has ended", "100 p2 halted 1, 101 p2 full 2"],
    ["the next owner has ended", "100 p2 halted 1, 101 p1 halted 1, 101 p1 full 2"],
    ["two owners have ended", "99 p2 halted 1, 99 p1 halted 2, 100 p1 full 3, 101 p2 full 3"],
    ["is the second", "98 p2 halted 1, 98 p2 full 2, 100 p2 halted 3, 101 p2 full 4"],
  ])("that %s is caught within a grace", (_what, heard) => {
    expect(verdict(101, heard)).toThrow("after a halt");
    expect(verdict(102, heard)).not.toThrow();
  });

  it.each([
    ["a former owner", "99 p2 halted 1, 99 p1 halted 1, 100 p1 full 2, 130 p2 full 3"],
    ["a late claim", "99 p2 halted 1, 100 p2 full 2, 120 p2 halted 1, 130 p2 full 2"],
    ["a lost owner", `90 p2 halted 1, ${90 + timeoutS} p1 full 2, 130 p2 full 3`],
  ])("does not count from what %s says of it", (_what, heard) => {
    expect(verdict(101, heard)).not.toThrow();
  });
});

describe("a verdict soon after a stop", () => {
  const verdictAfter = (publisher: "p1" | "p2", sentMs: number, past: object = {}) => {
    const stage = new Stage();
    const { watchViews } = stage.checks;
    const pulse = new Uint8Array();
    stage.show("a", "True");
    stage.pass(sentMs);
    watchViews.pulsed("0", publisher, pulse);
    stage.pass(100 * S + nodeMonitorGraceMs / 2 - sentMs);
    Object.assign(stage.process, { lastStop: { endedMs: 100 * S, lastedMs: 65 * S } });
    Object.assign(stage.observer, past);
    watchViews.received("0", "p1", pulse);
    return stage.findUnknown("a");
  };

  it("is right with a pulse of another observer", () => {
    expect(verdictAfter("p2", 101 * S)).not.toThrow();
  });

  it.each([
    ["that waited for it", verdictAfter("p2", 99 * S)],
    ["of its own observer", verdictAfter("p1", 101 * S)],
    [
      "of an observer that saw nothing",
      verdictAfter("p2", 101 * S, { lastSilence: { endedMs: 99 * S, lastedMs: 65 * S } }),
    ],
    ["of an observer that was dead", verdictAfter("p2", 101 * S, { lastDeathMs: 95 * S })],
  ])("is caught with a pulse %s", (_what, verdict) => {
    expect(verdict).toThrow("had seen for");
  });
});

describe("a verdict after its observer was killed", () => {
  interface Killed {
    readonly diedMs: number;
    readonly dead?: "p1" | "p2";
    readonly next?: "p1" | "p2";
    readonly faults?: readonly FaultClass[];
  }

  /** Finds a node silent at 51 s that renewed last at 45 s. `dead` was killed at `diedMs`; p2 observed, then `next`. */
  const verdict = ({ diedMs, dead = "p2", next, faults = [] }: Killed) => {
    const stage = new Stage();
    Object.assign(stage.world.swarm, { faults: new Set(faults) });
    const { watchViews } = stage.checks;
    stage.show("a", "True");
    stage.renew("a");
    watchViews.pulsed("0", "p2", new Uint8Array());
    stage.pass(45 * S);
    stage.renew("a");
    stage.pass(6 * S);
    Object.assign(dead === "p2" ? stage.observer : stage.process, { lastDeathMs: diedMs });
    if (next !== undefined) watchViews.pulsed("0", next, new Uint8Array());
    return stage.findUnknown("a");
  };

  it.each([
    ["that it had not published", 46 * S],
    ["that it could not see any more", 40 * S],
  ])("may miss a heartbeat %s", (_what, diedMs) => {
    expect(verdict({ diedMs })).not.toThrow();
  });

  it("may miss one if its clock is set back", () => {
    expect(verdict({ diedMs: 36 * S, next: "p2", faults: ["wrongClocks"] })).not.toThrow();
  });

  it.each([
    ["that it must have published", verdict({ diedMs: 47 * S })],
    ["that its successor has published", verdict({ diedMs: 46 * S, next: "p1" })],
    ["that it has published since its return", verdict({ diedMs: 46 * S, next: "p2" })],
    ["that the death of another process cannot hide", verdict({ diedMs: 46 * S, dead: "p1" })],
    ["from long after its return", verdict({ diedMs: 34 * S, next: "p2", faults: ["wrongClocks"] })],
  ])("is caught with a heartbeat %s", (_what, late) => {
    expect(late).toThrow("Unknown after 6000 ms");
  });
});

describe("a verdict in a split", () => {
  /** Finds a node silent at 51 s; p1 did not receive its renewal at 41 s, and received the pulse at 49 s. */
  const verdict = ({ from = "p2", laterMs = 0, act }: { from?: string; laterMs?: number; act?: "hear" }) => {
    const stage = new Stage();
    const { watchViews } = stage.checks;
    const pulse = (publisher: string): void => {
      const payload = new Uint8Array();
      watchViews.pulsed("0", publisher, payload);
      watchViews.received("0", "p1", payload);
    };
    stage.show("a", "True");
    stage.renew("a");
    pulse("p2");
    stage.pass(41 * S);
    stage.renew("a");
    stage.pass(S / 10);
    watchViews.withheld("0", from, "p1");
    stage.pass(7.9 * S);
    pulse("p2");
    stage.pass(2 * S + laterMs);
    if (act === "hear") watchViews.heard("0", "p1");
    return stage.findUnknown("a");
  };

  it("may miss a heartbeat that it kept back", () => {
    expect(verdict({})).not.toThrow();
  });

  it.each([
    ["of an observer that no reader follows", verdict({ from: "p3" }), "after 10000 ms"],
    ["that later ones have followed", verdict({ act: "hear" }), "after 10000 ms"],
    ["while no pulse comes", verdict({ laterMs: pulseTimeoutMs - S }), "after"],
  ])("is caught with a heartbeat %s", (_what, late, problem) => {
    expect(late).toThrow(`Unknown ${problem}`);
  });
});

describe("a verdict after the end of a split", () => {
  const { pulsePeriodMs, resyncRetryMs } = STANDARD_PROFILE;
  const knownMs = pulsePeriodMs + resyncRetryMs;
  /** Finds a node silent that renewed last at 60 s, so long after a split that ended at `rejoinedMs`. */
  const verdict = (rejoinedMs: number, afterMs: number) => {
    const stage = new Stage();
    stage.show("a", "True");
    stage.renew("a");
    stage.pass(60 * S);
    stage.renew("a");
    stage.pass(rejoinedMs - 60 * S);
    stage.checks.watchViews.rejoined();
    stage.pass(afterMs);
    return stage.findUnknown("a");
  };

  it("may miss a heartbeat of the other side", () => {
    expect(verdict(61 * S, knownMs)).not.toThrow();
  });

  it.each([
    ["that its own side must have heard of", verdict(62 * S, knownMs)],
    ["that it has asked for since", verdict(61 * S, knownMs + 1)],
  ])("is caught with a heartbeat %s", (_what, late) => {
    expect(late).toThrow("Unknown after");
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

  it("as old as a stop passes right after it, not later", () => {
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

  it("as old as an unobserved time passes right after it", () => {
    const stage = new Stage();
    const pulsed = (): void => stage.checks.watchViews.pulsed("0", "p1", Buffer.from("{}"));
    for (const name of ["a", "b"]) {
      stage.renew(name);
      stage.show(name, "True");
    }
    stage.pass(100 * S);
    pulsed();
    stage.checks.node(stage.show("b", "True"), stage.show("b", "True"), true);
    stage.pass(65 * S);
    const claim = () => stage.checks.zoneClaims.check(stage.announce(2, 0));
    expect(claim).toThrow("it has had");
    pulsed();
    expect(claim).not.toThrow();
    stage.pass(10 * S);
    expect(claim).toThrow("it has had");
  });

  it("may be as old as a server behind a load balancer", () => {
    const stage = new Stage();
    Object.assign(stage.world.swarm, { faults: new Set<FaultClass>(["staleServers"]) });
    stage.renew("a");
    stage.show("a", "True");
    stage.pass(10 * S);
    stage.show("a", "False");
    stage.pass(200 * S);
    const claim = () => stage.checks.zoneClaims.check(stage.announce(1, 0));
    expect(claim).not.toThrow();
    stage.pass(60 * S);
    expect(claim).toThrow("have not been ready");
  });

  it("by a new owner may be the dead one's last", () => {
    const stage = new Stage();
    stage.renew("a");
    stage.show("a", "Unknown");
    stage.pass(10 * S);
    stage.renew("a");
    stage.show("a", "True");
    stage.pass(2 * S);
    const claim = () => stage.checks.zoneClaims.check(stage.announce(1, 1));
    expect(claim).toThrow("have not been ready");
    Object.assign(stage.process, { lastDeathMs: stage.world.clock.monotonicMs() - 2 * S });
    expect(claim).not.toThrow();
    stage.pass(10 * S);
    stage.renew("a");
    expect(claim).toThrow("have not been ready");
  });

  it("passes if true now or a moment ago", () => {
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

describe("a field with another writer", () => {
  const pod = (status: string): CheckedPod => ({
    metadata: { namespace: "default", name: "p", uid: "uid-p", creationTimestamp: "" },
    spec: { nodeName: "a" },
    status: { conditions: [{ type: "Ready", status }] },
  });

  it("may be changed back three times for one version", () => {
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
