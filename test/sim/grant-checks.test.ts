/** Grants that come too soon, or not at all, are caught. */
import { describe, expect, it } from "vitest";
import { message, S, Stage } from "./checks.stage.ts";

const UNREACHABLE = "node.kubernetes.io/unreachable";

describe("a grant", () => {
  it("is caught too soon after one whose taint has landed", () => {
    const stage = new Stage();
    for (const name of ["a", "b"]) stage.show(name, "Unknown");
    stage.grant("a")();
    stage.pass(10);
    stage.checks.grants.land(stage.show("a", "Unknown", [UNREACHABLE]));
    expect(stage.grant("b")).not.toThrow();
    const slow = { ...stage.world.swarm.profile, nodeEvictionsPerSecond: 0.1 };
    Object.assign(stage.world.swarm, { profile: slow });
    stage.pass(3 * S);
    expect(stage.grant("b")).toThrow("which had landed");
    stage.pass(7 * S);
    expect(stage.grant("b")).not.toThrow();
  });

  it("is missed when nodes wait and no grant comes", () => {
    const stage = new Stage();
    stage.pass(100 * S);
    stage.show("well", "True");
    for (const name of ["a", "b"]) stage.show(name, "Unknown");
    const look = () => {
      stage.pass(5 * S);
      stage.checks.grants.look();
    };
    for (let looks = 0; looks < 2; looks++) look();
    expect(look).toThrow("while nodes waited");
  });
});

describe("a grant of a drain", () => {
  const waiting = () => {
    const stage = new Stage();
    const { swarm } = stage.world;
    Object.assign(swarm, { profile: { ...swarm.profile, evictionMode: "direct", podEvictionTimeoutMs: 30 * S } });
    for (const name of ["a", "b"]) stage.bind(name);
    stage.pass(100 * S);
    stage.show("well", "True");
    for (const name of ["a", "b"]) stage.show(name, "Unknown");
    return stage;
  };
  const lookThrice = (stage: Stage) => () => {
    for (let looks = 0; looks < 3; looks++) {
      stage.pass(5 * S);
      stage.checks.grants.look();
    }
  };

  it("is missed when nodes wait and none comes", () => {
    expect(lookThrice(waiting())).toThrow("while nodes waited");
  });

  it("is not missed by nodes whose kubelets came back meanwhile", () => {
    const stage = waiting();
    stage.pass(28 * S);
    for (const name of ["a", "b"]) stage.show(name, "False");
    stage.pass(12 * S);
    expect(lookThrice(stage)).not.toThrow();
    stage.pass(10 * S);
    expect(lookThrice(stage)).toThrow("while nodes waited");
  });

  const drain = (stage: Stage, node: string) =>
    stage.checks.grants.drain(message("asked.drain", { node, uid: `uid-${node}`, zone: "" }));

  it("is not missed by nodes without a pod to delete", () => {
    const stage = waiting();
    for (const name of ["a", "b"]) stage.world.remove("pods", `pod-${name}`);
    expect(lookThrice(stage)).not.toThrow();
  });

  it("does not count at a node without a pod to delete", () => {
    const grants = (stage: Stage) => () => {
      for (let looks = 0; looks < 5; looks++) {
        stage.pass(5 * S);
        stage.checks.grants.look();
        for (let times = 0; times < 3; times++) drain(stage, "done");
      }
    };
    const stage = waiting();
    for (const name of ["fine", "good"]) stage.show(name, "True");
    stage.show("done", "Unknown");
    stage.bind("done");
    expect(grants(stage)).not.toThrow();
    stage.world.remove("pods", "pod-done");
    expect(grants(stage)).toThrow("while nodes waited");
  });

  it("is not missed by a node that had one, until it was ready", () => {
    const stage = waiting();
    for (const node of ["a", "b"]) drain(stage, node);
    expect(lookThrice(stage)).not.toThrow();
    stage.show("a", "True");
    stage.pass(S);
    stage.show("a", "Unknown");
    stage.pass(30 * S);
    expect(lookThrice(stage)).toThrow("while nodes waited");
  });
});

describe("a grant of a node that has just joined", () => {
  it("is not missed yet", () => {
    const stage = new Stage();
    stage.pass(100 * S);
    stage.show("well", "True");
    const join = (name: string) => () => {
      stage.pass(5 * S);
      stage.show(name, "False");
      stage.checks.grants.look();
      stage.show(name, "True");
    };
    for (const name of ["a", "b", "c", "d"]) expect(join(name)).not.toThrow();
  });
});

describe("a grant in the calm", () => {
  const calmed = () => {
    const stage = new Stage();
    stage.pass(100 * S);
    stage.show("well", "True");
    for (const name of ["a", "b"]) stage.show(name, "Unknown");
    stage.checks.grants.calm();
    return stage;
  };
  const lookFor = (stage: Stage, seconds: number) => () => {
    for (let leftS = seconds; leftS > 0; leftS -= 5) {
      stage.pass(5 * S);
      stage.checks.grants.look();
    }
  };

  it("is missed once every process has had the time to sync", () => {
    const stage = calmed();
    expect(lookFor(stage, 145)).not.toThrow();
    expect(lookFor(stage, 15)).toThrow("while nodes waited");
  });

  it("is not missed sooner because a process resumes", () => {
    const stage = calmed();
    stage.checks.disturbed();
    expect(lookFor(stage, 145)).not.toThrow();
    expect(lookFor(stage, 15)).toThrow("while nodes waited");
  });

  it("is missed again soon after a process starts late", () => {
    const stage = calmed();
    expect(lookFor(stage, 140)).not.toThrow();
    stage.checks.disturbed();
    expect(lookFor(stage, 25)).not.toThrow();
    expect(lookFor(stage, 15)).toThrow("while nodes waited");
  });
});
