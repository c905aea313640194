/** Nodes are remediated through objects of medik8s' API, by all services on virtual time. */
import { describe, expect, test } from "vitest";
import { Urgency } from "../../protocols/ports.ts";
import { epochMsOf } from "../../services/domain/api-time.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { recordOf } from "../../services/structures/json.ts";
import { previewedOn } from "../cli/preview/preview-world.ts";
import { UNREACHABLE } from "../support/eviction-world.ts";
import { GROUP, RemediationWorld, stepOf } from "./remediations.fixture.ts";

const S = 1000;
const MINUTE = 60 * S;
const OUT = "node.kubernetes.io/out-of-service:NoExecute";
/** A step happens up to two rounds later than it could, and API stamps are whole seconds. */
const ROUNDS_S = 12;
const NO_EXECUTE = { key: UNREACHABLE, effect: "NoExecute" };
const STEPS = [stepOf("Reboot"), stepOf("PowerOff")];
const DRY = STEPS.map((step) => ({ ...step, dryRun: true }));
const TIMED_OUT = "remediation.medik8s.io/nhc-timed-out";

/** Sets the remediations of a policy that is an object of the API. */
function setSteps(world: RemediationWorld, remediations: readonly ReturnType<typeof stepOf>[]): void {
  const ref = { kind: "NodePolicy", namespace: "", name: "gpu" } as const;
  const body = { spec: { remediations } };
  world.write({ verb: "patch", patch: "merge", ref, urgency: Urgency.healing, body });
}

describe("a preview", () => {
  const down = { node: ["a-0"], down: true };
  const recoveryIn = (world: RemediationWorld) => previewedOn(world, down, world.configured).nodes[0];
  const secondsBetween = (before: number, at: number | null) => Math.abs((at ?? Number.NaN) - before) / S;

  test("says when each remediation comes", () => {
    const world = new RemediationWorld({ remediations: [stepOf("Reboot", { timeout: "2m" }), stepOf("PowerOff")] });
    const { remediations = [] } = recoveryIn(world) ?? {};
    const startAt = world.clock.wallMs();
    world.silence(["a-0"]);
    world.advance(10 * MINUTE);
    expect(remediations.map(({ kind }) => kind)).toEqual(["Reboot", "PowerOff"]);
    for (const { kind, createdAfterMs } of remediations) {
      const createdAt = epochMsOf(String(world.object(kind)?.metadata.creationTimestamp));
      expect(secondsBetween(startAt + createdAfterMs, createdAt)).toBeLessThan(ROUNDS_S);
    }
  });

  test("says from when on a proof would put a node out of service", () => {
    const world = new RemediationWorld({ outOfService: { after: "3m", proof: ["RemediationSucceeded"] } });
    const { outOfService } = recoveryIn(world) ?? {};
    const startAt = world.clock.wallMs();
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    world.report("Reboot", "Succeeded", "True");
    world.advance(10 * MINUTE);
    const node = world.read({ kind: "Node", namespace: "", name: "a-0" });
    const stamp = recordOf(node?.metadata.annotations)["vigil.v1/out-of-service"];
    const taintedAt = epochMsOf(String(stamp));
    expect(outOfService?.proofs).toEqual(["RemediationSucceeded"]);
    expect(secondsBetween(startAt + (outOfService?.fromAfterMs ?? 0), taintedAt)).toBeLessThan(ROUNDS_S);
  });

  test("ends with a dry run, after which none follows", () => {
    const world = new RemediationWorld({ remediations: [stepOf("Reboot", { dryRun: true }), stepOf("PowerOff")] });
    expect(recoveryIn(world)?.remediations).toMatchObject([{ kind: "Reboot", isDryRun: true, timesOutAfterMs: null }]);
  });

  test("says of --remediation-dry-run that all of them are dry runs", () => {
    const world = new RemediationWorld({}, { profile: { remediationDryRun: true } });
    expect(recoveryIn(world)?.remediations).toMatchObject([{ kind: "Reboot", isDryRun: true, timesOutAfterMs: null }]);
  });

  test("in direct mode has none, because nodes get no taint", () => {
    const world = new RemediationWorld({}, { profile: { evictionMode: "direct" } });
    expect(recoveryIn(world)).not.toHaveProperty("remediations");
  });
});

describe("a silent node", () => {
  test("gets the first remediation once it is admitted for eviction", () => {
    const world = new RemediationWorld();
    world.silence(["a-0"]);
    world.advance(MINUTE);
    expect(world.taints("a-0")).toContain(`${UNREACHABLE}:NoExecute`);
    world.advance(10 * S);
    expect([world.objects("Reboot"), world.objects("PowerOff")]).toEqual([["a-0"], []]);
    expect(world.object("Reboot")?.spec).toEqual({ remediationStrategy: "Automatic" });
    expect(world.says()).toMatch(/Its remediation by Reboot has run since \S+, until \S+ at most/);
  });

  test("gets the next one after the timeout, over a crash", () => {
    const world = new RemediationWorld();
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    const { uid } = world.object("Reboot")?.metadata ?? {};
    world.crash(2 * MINUTE);
    world.advance(2 * MINUTE);
    expect(world.object("Reboot")?.metadata.uid).toBe(uid);
    expect(world.objects("PowerOff")).toEqual(["a-0"]);
    expect(world.object("Reboot")?.metadata.annotations).toHaveProperty([TIMED_OUT]);
    world.advance(6 * MINUTE);
    expect(world.object("PowerOff")?.metadata.annotations).toHaveProperty([TIMED_OUT]);
    expect(world.says()).toContain("Every remediation of its policy has failed or timed out");
  });

  test("gets the next one at once when the first has failed", () => {
    const world = new RemediationWorld();
    world.silence(["a-0"]);
    world.advance(90 * S);
    world.report("Reboot", "Succeeded", "False");
    world.advance(15 * S);
    expect(world.objects("PowerOff")).toEqual(["a-0"]);
  });

  test("loses its objects when it is back, in a freeze too", () => {
    const world = new RemediationWorld();
    world.silence(["a-0"]);
    world.advance(8 * MINUTE);
    expect([world.objects("Reboot"), world.objects("PowerOff")]).toEqual([["a-0"], ["a-0"]]);
    world.request({ name: "alice", since: world.at() });
    world.revive(["a-0"]);
    world.advance(20 * S);
    expect([world.objects("Reboot"), world.objects("PowerOff")]).toEqual([[], []]);
  });

  test("gets no object by a policy that it has just left", () => {
    const zone = "topology.kubernetes.io/zone";
    const world = new RemediationWorld({ selector: { matchLabels: { [zone]: "a" } } });
    world.silence(["a-0"]);
    while (!world.taints("a-0").includes(`${UNREACHABLE}:NoExecute`)) world.advance(100);
    const writes = world.recordRemediationWrites();
    const ref = { kind: "Node", namespace: "", name: "a-0" } as const;
    const body = { metadata: { labels: { [zone]: "b" } } };
    world.api.faults.add({
      fault: { kind: "latency", requestMs: 50 },
      times: 1,
      when: ({ verb, resource: { plural }, name }) => {
        const isOfNode = verb === "get" && plural === "nodes" && name === "a-0";
        const relabel = () => world.kube.write({ verb: "patch", patch: "merge", ref, urgency: 0, body }, () => {});
        if (isOfNode) world.clock.after(20, relabel);
        return isOfNode;
      },
    });
    world.advance(MINUTE);
    expect([world.node("a-0").metadata.labels?.[zone], writes]).toEqual(["b", []]);
  });

  test("gets no object by a read from before a pause in which it came back", () => {
    const world = new RemediationWorld();
    let resumeClock = (): void => {};
    const pause = (): void => {
      world.standstill.begin();
      resumeClock = world.processClock.suspend();
    };
    world.silence(["a-0"]);
    while (!world.taints("a-0").includes(`${UNREACHABLE}:NoExecute`)) world.advance(100);
    world.api.faults.add({
      fault: { kind: "latency", answerMs: 50 },
      times: 1,
      when: ({ verb, resource: { plural }, name }) => {
        const isOfLease = verb === "get" && plural === "leases" && name === "a-0";
        if (isOfLease) world.clock.after(20, pause);
        return isOfLease;
      },
    });
    const writes = world.recordRemediationWrites();
    world.advance(10 * S);
    expect([world.standstill.isStill, writes]).toEqual([true, []]);
    world.revive(["a-0"]);
    world.advance(MINUTE);
    resumeClock();
    world.standstill.end();
    world.advance(MINUTE);
    expect(writes).toEqual([]);
  });

  test.each([0, 12])("loses an object that is created while it comes back (%i s)", (seconds) => {
    const world = new RemediationWorld();
    let isSent = false;
    const isCreation = ({ verb, resource: { plural } }: Call): boolean => verb === "create" && plural === "reboots";
    world.api.faults.add({
      fault: { kind: "latency", requestMs: seconds * S },
      when: (call) => {
        isSent ||= isCreation(call);
        return isCreation(call);
      },
    });
    world.silence(["a-0"]);
    while (!isSent) world.advance(100);
    world.revive(["a-0"]);
    world.advance(seconds * S);
    expect(world.objects("Reboot")).toEqual(["a-0"]);
    world.advance(10 * S);
    expect(world.objects("Reboot")).toEqual([]);
  });

  test("loses an object whose kind its policy names again", () => {
    const world = new RemediationWorld({ remediations: [stepOf("Reboot")] }, { isObject: true });
    const name = (kind: string): void => setSteps(world, [stepOf(kind)]);
    world.silence(["a-0"]);
    world.advance(90 * S);
    name("PowerOff");
    world.revive(["a-0"]);
    world.advance(20 * S);
    expect(world.objects("Reboot")).toEqual(["a-0"]);
    name("Reboot");
    world.advance(20 * S);
    expect(world.objects("Reboot")).toEqual([]);
  });

  test("has an object that no overridden NodePolicy owns", () => {
    const world = new RemediationWorld();
    world.putPolicy({ selector: {} });
    world.advance(2 * MINUTE);
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    expect(world.condition()).toBe("");
    expect(world.object("Reboot")?.metadata).toMatchObject({ name: "a-0" });
    expect(world.object("Reboot")?.metadata).not.toHaveProperty("ownerReferences");
  });

  test("loses its objects with the node", () => {
    const world = new RemediationWorld();
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    world.write({
      verb: "delete",
      ref: { kind: "Node", namespace: "", name: "a-0" },
      urgency: Urgency.healing,
      gracePeriodSeconds: 0,
    });
    world.advance(20 * S);
    expect(world.objects("Reboot")).toEqual([]);
  });

  test("is declared out of service once its remediation has succeeded", () => {
    const world = new RemediationWorld({ outOfService: { after: "1m", proof: ["RemediationSucceeded"] } });
    world.silence(["a-0"]);
    world.advance(3 * MINUTE);
    expect(world.taints("a-0")).not.toContain(OUT);
    world.report("Reboot", "Succeeded", "True");
    world.advance(20 * S);
    expect(world.taints("a-0")).toContain(OUT);
    expect(world.says()).toContain("Its remediation by Reboot of");
    expect(world.objects("PowerOff")).toEqual([]);
  });

  test("is not proved down by a success that is withdrawn before the proof", () => {
    const world = new RemediationWorld({ outOfService: { after: "1m", proof: ["RemediationSucceeded"] } });
    world.silence(["a-0"]);
    world.advance(3 * MINUTE);
    world.report("Reboot", "Succeeded", "True");
    let isWithdrawn = false;
    world.api.faults.add({
      fault: { kind: "stall" },
      when: ({ verb, resource, name }) => {
        if (!isWithdrawn && verb === "get" && resource.plural === "nodes" && name === "a-0") {
          isWithdrawn = true;
          world.reportNext("Reboot", "Succeeded", "False");
        }
        return false;
      },
    });
    world.advance(20 * S);
    expect(isWithdrawn).toBe(true);
    expect(world.taints("a-0")).not.toContain(OUT);
  });
});

describe("a remediation is held back", () => {
  test("by a freeze", () => {
    const world = new RemediationWorld();
    world.silence(["a-0"]);
    while (!world.taints("a-0").includes(`${UNREACHABLE}:NoExecute`)) world.advance(100);
    world.request({ name: "alice", since: world.at() });
    world.advance(10 * MINUTE);
    expect(world.objects("Reboot")).toEqual([]);
    expect(world.says()).toContain("Its remediation by Reboot waits: ConfigMap vigil-freeze: pauseRequests (alice)");
  });

  test("by a budget", () => {
    const world = new RemediationWorld({ budgets: [{ nodes: 1 }], nodeEvictionRate: 1 });
    world.silence(["a-0", "a-1", "a-2"]);
    world.advance(3 * MINUTE);
    expect(world.objects("Reboot")).toHaveLength(1);
    expect(world.says("a-2")).toContain("budgets of NodePolicy gpu blocks it");
  });

  test.each([false, true])("by --shadow, unsent (dryRun: %s)", (dryRun) => {
    const world = new RemediationWorld({ remediations: [stepOf("Reboot", { dryRun })] }, { isShadow: true });
    const writes = world.recordRemediationWrites();
    world.silence(["a-0"]);
    const unknown = { type: "Ready", status: "Unknown", lastTransitionTime: world.at() };
    world.patch({ kind: "Node", namespace: "", name: "a-0" }, { status: { conditions: [unknown] } }, "status");
    world.taint("a-0", [NO_EXECUTE]);
    world.advance(10 * MINUTE);
    expect(writes).toEqual([]);
    expect(world.says()).toContain("Its remediation by Reboot would begin now, but this is a dry run");
  });

  test("by its policy, which ends it while the lease is read", () => {
    const world = new RemediationWorld({}, { isObject: true });
    const writes = world.recordRemediationWrites();
    // The policy service alone reads the lease of a node that is admitted.
    let isRead = false;
    const isLease = ({ verb, name, resource: { plural } }: Call): boolean => {
      const is = verb === "get" && plural === "leases" && name === "a-0" && world.taintedAt("a-0") !== undefined;
      isRead ||= is;
      return is;
    };
    world.api.faults.add({ fault: { kind: "latency", answerMs: 1 * S }, when: isLease });
    world.silence(["a-0"]);
    while (!isRead) world.advance(100);
    setSteps(world, []);
    world.advance(5 * MINUTE);
    expect(writes).toEqual([]);
  });

  test("by a kind that is not installed, also of the next one", () => {
    const world = new RemediationWorld({}, { kinds: ["Reboot"] });
    world.silence(["a-0"]);
    world.advance(3 * MINUTE);
    expect(world.objects("Reboot")).toEqual([]);
    const problem = `the API server does not serve poweroffs of ${GROUP}/v1alpha1`;
    expect(world.says()).toContain(problem);
    const logged = world.logged().filter(({ message }) => message.endsWith("its remediations do not work"));
    expect(logged.map(({ fields }) => fields.detail)).toEqual([problem]);
  });

  test("by a right that is missing, until it is granted", () => {
    const world = new RemediationWorld();
    const grant = world.api.faults.add({
      fault: { kind: "status", code: 403, message: "forbidden" },
      when: ({ verb, resource }) => verb === "create" && resource.plural === "reboots",
    });
    world.silence(["a-0"]);
    world.advance(3 * MINUTE);
    expect([world.objects("Reboot"), world.objects("PowerOff")]).toEqual([[], []]);
    expect(world.says()).toContain(`the API server refused to create reboots.${GROUP} in medik8s: 403`);
    grant();
    world.advance(2 * MINUTE);
    expect(world.objects("Reboot")).toEqual(["a-0"]);
  });

  test("by an object that another client made", () => {
    const world = new RemediationWorld();
    const metadata = { name: "a-0", namespace: "medik8s" };
    const body = { apiVersion: `${GROUP}/v1alpha1`, kind: "PowerOff", metadata, spec: {} };
    world.write({ verb: "create", ref: world.ref("PowerOff", "a-0"), urgency: Urgency.healing, body });
    world.silence(["a-0"]);
    world.advance(10 * MINUTE);
    expect(world.objects("Reboot")).toEqual([]);
    world.revive(["a-0"]);
    world.advance(MINUTE);
    expect(world.objects("PowerOff")).toEqual(["a-0"]);
  });
});

describe("a dry run", () => {
  const ACCEPTED = "would begin now, but this is a dry run: the API server accepts its object, and nothing is created";
  const dryWorld = (remediations: readonly ReturnType<typeof stepOf>[] = DRY, profile = {}) => {
    const world = new RemediationWorld({ remediations: [...remediations] }, { profile });
    const writes = world.recordRemediationWrites();
    return { world, writes };
  };
  const denied = { kind: "status", code: 403, message: "forbidden" } as const;
  const ofCreation = ({ verb, resource }: Call) => verb === "create" && resource.plural === "reboots";

  test.each([
    ["dryRun", DRY, {}],
    ["--remediation-dry-run", STEPS, { remediationDryRun: true }],
  ])("by %s has the object checked, and none made", (_, remediations, profile) => {
    const { world, writes } = dryWorld(remediations, profile);
    world.silence(["a-0"]);
    world.advance(30 * MINUTE);
    expect(writes).toEqual(["create reboots dryRun=All"]);
    expect([world.objects("Reboot"), world.objects("PowerOff")]).toEqual([[], []]);
    expect(world.says()).toContain(`Its remediation by Reboot ${ACCEPTED}`);
    const logged = world.logged().filter(({ message }) => message === "remediation would be created");
    expect(logged.map(({ fields }) => [fields.node, fields.kind])).toEqual([["a-0", "Reboot"]]);
  });

  test("sends the object that would be created", () => {
    const bodies: unknown[] = [];
    const { world } = dryWorld();
    world.api.faults.add({
      fault: denied,
      when: (call) => {
        if (ofCreation(call)) bodies.push(JSON.parse(call.body ?? "null"));
        return false;
      },
    });
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    expect(bodies).toMatchObject([
      {
        kind: "Reboot",
        metadata: { name: "a-0", namespace: "medik8s", annotations: { "vigil.v1/policy": "gpu" } },
        spec: { remediationStrategy: "Automatic" },
      },
    ]);
  });

  test("is made again when the node fails again, and when the template changes", () => {
    const { world, writes } = dryWorld();
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    world.revive(["a-0"]);
    world.advance(2 * MINUTE);
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    expect(writes).toHaveLength(2);
    const body = { spec: { template: { spec: { remediationStrategy: "ResourceDeletion" } } } };
    const ref = world.ref("RebootTemplate", "reboot");
    world.write({ verb: "patch", patch: "merge", ref, urgency: Urgency.healing, body });
    world.advance(MINUTE);
    expect(writes).toHaveLength(3);
  });

  test("shows a right that is missing, until it is granted", () => {
    const world = new RemediationWorld({ remediations: DRY }, { isObject: true });
    const writes = world.recordRemediationWrites();
    const grant = world.api.faults.add({ fault: denied, when: ofCreation });
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    const refusal = `the API server refused to create reboots.${GROUP} in medik8s: 403`;
    expect(world.says()).toContain(refusal);
    expect(world.condition()).toContain(`False Forbidden: ${refusal}`);
    const logged = world.logged().map(({ message }) => message);
    expect(logged).toContain("remediation would not be created");
    expect(logged).toContain("NodePolicy gpu: its remediations do not work");
    grant();
    world.advance(2 * MINUTE);
    expect(world.says()).toContain(ACCEPTED);
    expect(new Set(writes)).toEqual(new Set(["create reboots dryRun=All"]));
  });

  test("is held back as the remediation would be", () => {
    const world = new RemediationWorld({ remediations: DRY, budgets: [{ nodes: 1 }], nodeEvictionRate: 1 });
    const writes = world.recordRemediationWrites();
    world.silence(["a-0", "a-1", "a-2"]);
    world.advance(3 * MINUTE);
    expect(writes).toHaveLength(1);
  });

  test("that begins while an object exists ends and deletes it", () => {
    const world = new RemediationWorld({}, { isObject: true });
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    setSteps(world, DRY);
    world.advance(10 * MINUTE);
    expect(world.object("Reboot")?.metadata.annotations).toHaveProperty([TIMED_OUT]);
    expect([world.objects("PowerOff"), world.says()]).toEqual([[], expect.stringContaining(`by PowerOff ${ACCEPTED}`)]);
    world.revive(["a-0"]);
    world.advance(MINUTE);
    expect(world.objects("Reboot")).toEqual([]);
  });
});

describe("beside upstream", () => {
  /** A world whose node is silent, and tainted by upstream. */
  const besideWorld = (fields: ConstructorParameters<typeof RemediationWorld>[0]) => {
    const world = new RemediationWorld(fields, { profile: { upstream: "beside" } });
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    expect(world.objects("Reboot")).toEqual([]);
    world.taint("a-0", [NO_EXECUTE]);
    world.advance(20 * S);
    return world;
  };

  test("a remediation follows upstream's taint", () => {
    expect(besideWorld({}).objects("Reboot")).toEqual(["a-0"]);
  });

  test("limits block it, because no process counts them", () => {
    const world = besideWorld({ budgets: [{ nodes: 5 }] });
    expect(world.objects("Reboot")).toEqual([]);
    expect(world.says()).toContain("a limit, which no process counts with --upstream=beside");
  });
});
