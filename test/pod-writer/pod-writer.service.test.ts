/** The pod-writer on the embedded API: what it reads before it writes, what it retries, what it publishes. */
import { expect, test } from "vitest";
import type { Profile } from "../../protocols/profile.ts";
import { latestInstant } from "../../services/pod-writer/pod-writer.service.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };

function world(pods: number, profile: Partial<Profile> = {}): EvictionWorld {
  const made = new EvictionWorld(profile);
  made.addZone("a", 3);
  for (let index = 0; index < pods; index++) made.addTolerantPod("a-0", `pod-${index}`);
  made.run();
  made.advance(10 * S);
  return made;
}

test("evictions take two requests for each pod and one live read of the node", () => {
  const evicting = world(110);
  const calls: string[] = [];
  const note = ({ verb, name }: { verb: string; name: string }): boolean => {
    if (name === "a-0" || name.startsWith("pod-")) calls.push(`${verb} ${name.replace(/pod-\d+/, "pod-N")}`);
    return false;
  };
  evicting.api.faults.add({ fault: { kind: "stall" }, when: note });
  evicting.taint("a-0", [MAINTENANCE]);
  evicting.advance(0);
  expect(evicting.deleted).toHaveLength(110);
  const countOf = (call: string) => calls.filter((each) => each === call).length;
  expect(["get a-0", "get pod-N", "patch pod-N", "delete pod-N"].map(countOf)).toEqual([1, 0, 110, 110]);
});

test("where requests queue, a marked pod is deleted before the next one is marked", () => {
  const evicting = world(3, { writesInFlightMax: 1 });
  const calls: string[] = [];
  const note = ({ verb, name }: { verb: string; name: string }): boolean => {
    if (name.startsWith("pod-")) calls.push(verb);
    return name.startsWith("pod-");
  };
  evicting.api.faults.add({ fault: { kind: "latency", answerMs: 50 }, when: note });
  evicting.taint("a-0", [MAINTENANCE]);
  evicting.advance(10 * S);
  expect(calls).toEqual(["patch", "delete", "patch", "delete", "patch", "delete"]);
});

test("a pod that changed since it was observed is read before it is marked and deleted", () => {
  const evicting = world(1);
  const calls: string[] = [];
  const ref = { kind: "Pod", namespace: "default", name: "pod-0" } as const;
  const change = ({ verb, name }: { verb: string; name: string }): boolean => {
    if (name !== "pod-0") return false;
    calls.push(verb);
    return calls.length === 1;
  };
  evicting.api.faults.add({ fault: { kind: "latency", requestMs: 500 }, when: change });
  evicting.taint("a-0", [MAINTENANCE]);
  evicting.advance(100);
  evicting.patch(ref, { metadata: { labels: { edited: "yes" } } });
  evicting.advance(5 * S);
  expect(calls).toEqual(["patch", "patch", "get", "patch", "delete"]);
  expect(evicting.deleted).toHaveLength(1);
});

const UNREADY = {
  status: { conditions: expect.arrayContaining([expect.objectContaining({ type: "Ready", status: "False" })]) },
};

test("the pods of a silent node are marked by one request each (R3.2)", () => {
  const silent = world(40);
  const calls: string[] = [];
  const note = ({ verb, name }: { verb: string; name: string }): boolean => {
    if (name.startsWith("pod-")) calls.push(verb);
    return false;
  };
  silent.api.faults.add({ fault: { kind: "stall" }, when: note });
  silent.silence(["a-0"]);
  silent.advance(60 * S);
  expect(calls).toEqual(Array.from({ length: 40 }, () => "patch"));
  expect(silent.read({ kind: "Pod", namespace: "default", name: "pod-0" })).toMatchObject(UNREADY);
});

test("so are they on a slow server, despite repeated requests and old reads (R3.2)", () => {
  const silent = world(100, { writesInFlightMax: 4 });
  const calls: string[] = [];
  const isStatus = ({ verb, name }: { verb: string; name: string }): boolean => {
    if (name.startsWith("pod-")) calls.push(`${verb} ${name}`);
    return verb === "patch" && name.startsWith("pod-");
  };
  silent.api.faults.add({ fault: { kind: "latency", answerMs: 200 }, when: isStatus });
  silent.silence(["a-0"]);
  silent.advance(70 * S);
  expect(calls.toSorted()).toEqual(Array.from({ length: 100 }, (_, index) => `patch pod-${index}`).toSorted());
  expect(silent.published("asked.unready").length).toBeGreaterThan(100);
  expect(silent.published("done.write").some(({ body }) => body.detail.includes("too long"))).toBe(true);
});

test("a pod that changed since the request is read before it is marked (R3.2)", () => {
  const silent = world(1);
  const calls: string[] = [];
  const ref = { kind: "Pod", namespace: "default", name: "pod-0" } as const;
  const change = ({ verb, name }: { verb: string; name: string }): boolean => {
    if (name !== "pod-0") return false;
    calls.push(verb);
    return calls.length === 1;
  };
  silent.api.faults.add({ fault: { kind: "latency", requestMs: 500 }, when: change });
  silent.silence(["a-0"]);
  for (let passed = 0; passed < 60 && calls.length === 0; passed += 0.1) silent.advance(100);
  silent.patch(ref, { metadata: { labels: { edited: "yes" } } });
  silent.advance(5 * S);
  expect(calls).toEqual(["patch", "patch", "get", "patch"]);
  expect(silent.read(ref)).toMatchObject(UNREADY);
});

const OUT_OF_SERVICE = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute" };

test("a pod due by a taint newer than the last read of its node goes at once", () => {
  const evicting = world(1);
  evicting.addTolerantPod("a-0", "guard", [{ ...MAINTENANCE, operator: "Exists", tolerationSeconds: 300 }]);
  evicting.taint("a-0", [MAINTENANCE]);
  evicting.advance(300);
  evicting.taint("a-0", [MAINTENANCE, OUT_OF_SERVICE]);
  evicting.advance(100);
  expect(evicting.deleted.map(({ name }) => name)).toEqual(["pod-0", "guard"]);
});

test("pods of a node that became Unknown since it was read are marked at once (R3.2)", () => {
  const failing = world(1);
  failing.addTolerantPod("a-0", "guard", [{ operator: "Exists" }]);
  failing.advance(10 * S);
  failing.taint("a-0", [MAINTENANCE]);
  failing.advance(300);
  failing.kubelet("a-0").report("Ready", "Unknown");
  failing.advance(100);
  expect(failing.read({ kind: "Pod", namespace: "default", name: "guard" })).toMatchObject(UNREADY);
});

const isCondition = ({ verb, subresource, name }: { verb: string; subresource: string; name: string }): boolean =>
  verb === "patch" && subresource === "status" && name === "pod-0";

test.each([403, 422])("a pod whose mark is denied with %i goes without it at once", (code) => {
  const evicting = world(1);
  evicting.api.faults.add({ fault: { kind: "status", code }, when: isCondition });
  evicting.taint("a-0", [MAINTENANCE]);
  evicting.advance(S);
  expect(evicting.deleted).toHaveLength(1);
  const [last] = evicting
    .published("done.write")
    .filter(({ body }) => body.ask === "asked.eviction" && body.outcome === "ok");
  expect(last?.body.change).toMatch(new RegExp(`^deleted: maintenance:NoExecute, unmarked \\(${code}: `));
});

test("a pod whose mark fails goes without it after a minute", () => {
  const evicting = world(1);
  evicting.api.faults.add({ fault: { kind: "status", code: 500 }, when: isCondition });
  evicting.taint("a-0", [MAINTENANCE]);
  evicting.advance(60 * S - 1);
  expect(evicting.deleted).toEqual([]);
  evicting.advance(120 * S);
  expect(evicting.deleted).toHaveLength(1);
});

test("a deletion that was not sent because its mark lost the reply has failed", () => {
  const evicting = world(1);
  evicting.api.faults.add({ fault: { kind: "lostReply" }, when: isCondition, times: 1 });
  evicting.taint("a-0", [MAINTENANCE]);
  evicting.advance(10 * S);
  const outcomes = evicting.published("done.write").filter(({ body }) => body.ask === "asked.eviction");
  expect(outcomes.map(({ body }) => body.outcome)).toEqual(["failed", "ok"]);
});

/** The preconditions of every delete of the pod that the server received. */
function preconditionsOf(evicting: EvictionWorld): unknown[] {
  const named: unknown[] = [];
  const note = ({ verb, body }: { verb: string; body: string | null }): boolean => {
    if (verb === "delete") named.push(JSON.parse(body ?? "").preconditions);
    return false;
  };
  evicting.api.faults.add({ fault: { kind: "stall" }, when: note });
  return named;
}

test("a delete names the pod and the version that its marked status has", () => {
  const evicting = world(1);
  const named = preconditionsOf(evicting);
  const ref = { kind: "Pod", namespace: "default", name: "pod-0" } as const;
  const before = evicting.read(ref)?.metadata;
  evicting.taint("a-0", [MAINTENANCE]);
  expect(named).toEqual([{ uid: before?.uid, resourceVersion: expect.stringMatching(/^\d+$/) }]);
  expect(named).not.toEqual([{ uid: before?.uid, resourceVersion: before?.resourceVersion }]);
  expect(evicting.deleted).toHaveLength(1);
});

test("retries back off from a server that fails slowly, too", () => {
  const evicting = world(1);
  let tries = 0;
  const isDelete = ({ verb }: { verb: string }): boolean => verb === "delete";
  const isTry = (call: { verb: string }): boolean => {
    if (isDelete(call)) tries++;
    return isDelete(call);
  };
  evicting.api.faults.add({ fault: { kind: "latency", requestMs: 1500 }, when: isTry });
  evicting.api.faults.add({ fault: { kind: "status", code: 500 }, when: isDelete });
  evicting.taint("a-0", [MAINTENANCE]);
  evicting.advance(300 * S);
  expect(tries).toBeGreaterThan(5);
  expect(tries).toBeLessThan(60);
});

test("a pod replaced under its name after the request is not deleted (L23)", () => {
  const evicting = world(1);
  const ref = { kind: "Pod", namespace: "default", name: "pod-0" } as const;
  evicting.api.faults.add({
    fault: { kind: "latency", requestMs: 500 },
    when: ({ verb }) => verb === "delete",
    times: 1,
  });
  evicting.taint("a-0", [MAINTENANCE]);
  evicting.advance(100);
  evicting.taint("a-0", []);
  evicting.write({ verb: "delete", ref, urgency: 0, gracePeriodSeconds: 0 });
  evicting.addTolerantPod("a-0", "pod-0");
  evicting.advance(60 * S);
  expect(evicting.read(ref)?.metadata.deletionTimestamp).toBeUndefined();
});

test("requests of a shard that is lost are dropped", () => {
  const evicting = world(1);
  evicting.api.faults.add({ fault: { kind: "status", code: 500 }, when: ({ verb }) => verb === "delete" });
  evicting.taint("a-0", [MAINTENANCE]);
  evicting.advance(5 * S);
  evicting.stop();
  const published = evicting.published("done.write").length;
  evicting.advance(300 * S);
  expect(evicting.published("done.write")).toHaveLength(published);
});

test("the latest instant follows steps forward and ignores steps back", () => {
  let [wallMs, monotonicMs] = [1_000_000, 0];
  const latestMs = latestInstant({ wallMs: () => wallMs, monotonicMs: () => monotonicMs });
  const after = (passedMs: number, stepMs: number): number => {
    monotonicMs += passedMs;
    wallMs += passedMs + stepMs;
    return latestMs();
  };
  expect([after(0, 0), after(10, 0), after(10, -500), after(10, 0), after(10, 800), after(10, -1)]).toEqual([
    1_000_000, 1_000_010, 1_000_020, 1_000_030, 1_000_340, 1_000_350,
  ]);
});

test("a pod created again under its name waits for its own mark", () => {
  const evicting = world(1);
  let isFailing = true;
  evicting.api.faults.add({
    fault: { kind: "status", code: 500 },
    when: ({ verb, name }) => isFailing && verb === "patch" && name === "pod-0",
  });
  evicting.taint("a-0", [MAINTENANCE]);
  evicting.advance(55 * S);
  expect(evicting.deleted).toEqual([]);
  evicting.removePod("pod-0");
  isFailing = false;
  evicting.addTolerantPod("a-0", "pod-0");
  isFailing = true;
  const sinceMs = evicting.clock.monotonicMs();
  evicting.advance(40 * S);
  const again = () => evicting.deleted.filter(({ atMs }) => atMs > sinceMs);
  expect(again()).toEqual([]);
  evicting.advance(60 * S);
  expect(again()).toHaveLength(1);
});
