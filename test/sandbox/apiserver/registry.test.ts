/** Creating, updating and deleting: identity, preconditions, grace and finalizers. */
import { describe, expect, test } from "vitest";
import { Embedded, LEASES, lease, node, PODS, pod } from "./embedded.ts";

const NODES = "/api/v1/nodes";
const OTHER_UID = "00000000-0000-4000-8000-000000000000";

describe("a create", () => {
  test("sets an object's identity from the injected clock and randomness", () => {
    const made = [new Embedded(), new Embedded()].map((embedded) => embedded.ask("POST", NODES, node("a")));
    expect(made[0]?.text).toBe(made[1]?.text);
    expect(made[0]).toMatchObject({
      status: 201,
      object: {
        kind: "Node",
        apiVersion: "v1",
        metadata: {
          uid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
          creationTimestamp: "2026-01-01T00:00:00Z",
        },
      },
    });
  });

  test("takes no identity from the client", () => {
    const given = { name: "a", uid: OTHER_UID, creationTimestamp: "2020-01-01T00:00:00Z", generation: 7 };
    const { object } = new Embedded().ask("POST", NODES, { metadata: given });
    expect(object.metadata.uid).not.toBe(OTHER_UID);
    expect(object.metadata).toMatchObject({ creationTimestamp: "2026-01-01T00:00:00Z" });
    expect(object.metadata).not.toHaveProperty("generation");
  });

  test("completes a generateName with five characters", () => {
    const { object } = new Embedded().ask("POST", PODS, pod("", "", { metadata: { name: "", generateName: "web-" } }));
    expect(object.metadata.name).toMatch(/^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  test.each([
    ["a name that is taken", NODES, node("taken"), 409, "AlreadyExists", 'nodes "taken" already exists'],
    [
      "a namespace that is not there",
      "/api/v1/namespaces/no/pods",
      pod("p"),
      404,
      "NotFound",
      'namespaces "no" not found',
    ],
    ["another namespace than the path's", PODS, pod("p", "", { metadata: { namespace: "x" } }), 400, "BadRequest", ""],
    ["another kind", NODES, { kind: "Pod", metadata: { name: "p" } }, 400, "BadRequest", ""],
    ["another version", NODES, { apiVersion: "v2", metadata: { name: "p" } }, 400, "BadRequest", ""],
    ["a namespaced kind without a namespace", "/api/v1/pods", pod("p"), 405, "MethodNotAllowed", ""],
  ])("of %s is refused", (_what, path, body, status, reason, message) => {
    const embedded = new Embedded();
    embedded.ask("POST", NODES, node("taken"));
    const answer = embedded.ask("POST", path, body);
    expect(answer).toMatchObject({ status, object: { reason } });
    if (message !== "") expect(answer.object.message).toBe(message);
  });
});

describe("an update", () => {
  test("needs the present resourceVersion and uid if it names them", () => {
    const embedded = new Embedded();
    const { object } = embedded.ask("POST", NODES, node("a"));
    const relabelled = (version: string, uid = ""): unknown => ({
      metadata: { name: "a", labels: { version }, ...(version === "" ? {} : { resourceVersion: version }), uid },
    });
    expect(embedded.ask("PUT", `${NODES}/a`, relabelled("1"))).toMatchObject({
      status: 409,
      object: { reason: "Conflict" },
    });
    expect(embedded.ask("PUT", `${NODES}/a`, relabelled("", OTHER_UID)).status).toBe(409);
    expect(embedded.ask("PUT", `${NODES}/a`, relabelled("")).status).toBe(200);
    expect(embedded.ask("PUT", `${NODES}/a`, relabelled(object.metadata.resourceVersion ?? "")).status).toBe(409);
  });

  test("by patch with another uid is invalid (R8.29)", () => {
    const embedded = new Embedded();
    embedded.ask("POST", NODES, node("a"));
    expect(embedded.ask("PATCH", `${NODES}/a`, { metadata: { uid: OTHER_UID } }, "strategic")).toMatchObject({
      status: 422,
      object: { reason: "Invalid", details: { causes: [{ field: "metadata.uid" }, { field: "metadata.uid" }] } },
    });
  });

  test("that changes nothing keeps the resourceVersion and sends no event", () => {
    const embedded = new Embedded();
    const { object } = embedded.ask("POST", NODES, node("a"));
    const watch = embedded.watch(`${NODES}?watch=1&resourceVersion=${object.metadata.resourceVersion}`);
    expect(embedded.ask("PUT", `${NODES}/a`, object).object).toEqual(object);
    expect(embedded.ask("PATCH", `${NODES}/a`, { metadata: { labels: {} } }, "merge").object).toEqual(object);
    expect(watch.text).toBe("");
  });

  test("that replaces an object sets the defaults that a new one gets", () => {
    const embedded = new Embedded();
    const path = "/apis/apps/v1/namespaces/default/deployments";
    const labels = { app: "web" };
    const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i:1" }] } };
    const spec = { selector: { matchLabels: labels }, template };
    const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec };
    const created = embedded.ask("POST", path, body).object.spec;
    const replaced = embedded.ask("PUT", `${path}/web`, body).object.spec;
    expect(replaced).toEqual(created);
    expect(replaced).toMatchObject({ replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 });
  });

  test("of a lease needs a resourceVersion, and to a free name creates it", () => {
    const embedded = new Embedded();
    const body = lease("n", "2026-01-01T00:00:00.000000Z");
    expect(embedded.ask("PUT", `${LEASES}/n`, body).status).toBe(201);
    expect(embedded.ask("PUT", `${LEASES}/n`, body)).toMatchObject({ status: 422, object: { reason: "Invalid" } });
    expect(embedded.ask("PUT", `${NODES}/n`, node("n")).status).toBe(404);
  });

  test("writes status and spec by their own paths, metadata by both", () => {
    const embedded = new Embedded();
    embedded.ask("POST", NODES, node("a"));
    const both = { metadata: { labels: { x: "1" } }, spec: { unschedulable: true }, status: { phase: "Running" } };
    const main = embedded.ask("PATCH", `${NODES}/a`, both, "merge").object;
    expect(main).toMatchObject({ metadata: { labels: { x: "1" } }, spec: { unschedulable: true } });
    expect(main.status).not.toHaveProperty("phase");
    const more = { metadata: { labels: { y: "2" } }, spec: { unschedulable: null }, status: { phase: "Running" } };
    expect(embedded.ask("PATCH", `${NODES}/a/status`, more, "merge").object).toMatchObject({
      metadata: { labels: { x: "1", y: "2" } },
      spec: { unschedulable: true },
      status: { phase: "Running" },
    });
  });

  test("counts a DaemonSet's generation when its spec changes, not its status", () => {
    const embedded = new Embedded();
    const path = "/apis/apps/v1/namespaces/default/daemonsets";
    const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } };
    embedded.ask("POST", path, { metadata: { name: "d" }, spec: { selector: { matchLabels: { a: "b" } }, template } });
    const status = embedded.ask("PATCH", `${path}/d/status`, { status: { numberReady: 1 } }, "merge");
    expect(status.object.metadata.generation).toBe(1);
    const spec = embedded.ask("PATCH", `${path}/d`, { spec: { minReadySeconds: 5 } }, "merge");
    expect(spec.object.metadata.generation).toBe(2);
  });

  test("with dryRun changes nothing", () => {
    const embedded = new Embedded();
    const { object } = embedded.ask("POST", NODES, node("a"));
    const tried = embedded.ask("PATCH", `${NODES}/a?dryRun=All`, { metadata: { labels: { x: "1" } } }, "merge");
    expect(tried.object.metadata.labels).toEqual({ x: "1" });
    embedded.ask("DELETE", `${NODES}/a?dryRun=All`);
    embedded.ask("POST", `${NODES}?dryRun=All`, node("b"));
    expect(embedded.ask("GET", `${NODES}/a`).object).toEqual(object);
    expect(embedded.ask("GET", `${NODES}/b`).status).toBe(404);
  });
});

describe("a delete", () => {
  test("of a node is done at once and answers with a Status", () => {
    const embedded = new Embedded();
    const { object } = embedded.ask("POST", NODES, node("a"));
    expect(embedded.ask("DELETE", `${NODES}/a`)).toMatchObject({
      status: 200,
      object: { kind: "Status", status: "Success", details: { name: "a", kind: "nodes", uid: object.metadata.uid } },
    });
    expect(embedded.ask("DELETE", `${NODES}/a`).status).toBe(404);
  });

  test("of a bound pod sets its grace period, which can only be shortened", () => {
    const embedded = new Embedded();
    embedded.ask("POST", PODS, pod("p", "n", { spec: { terminationGracePeriodSeconds: 60 } }));
    const until = (gracePeriodSeconds?: number): unknown =>
      embedded.ask("DELETE", `${PODS}/p`, { gracePeriodSeconds }).object.metadata.deletionTimestamp;
    expect(until()).toBe("2026-01-01T00:01:00Z");
    embedded.clock.advance(10_000);
    expect(until()).toBe("2026-01-01T00:01:00Z");
    expect(until(90)).toBe("2026-01-01T00:01:00Z");
    expect(until(20)).toBe("2026-01-01T00:00:20Z");
    embedded.clock.advance(3_600_000);
    expect(embedded.ask("GET", `${PODS}/p`).status).toBe(200);
    until(0);
    expect(embedded.ask("GET", `${PODS}/p`).status).toBe(404);
  });

  test.each([
    ["on no node", pod("p"), "Pending"],
    ["that has finished", pod("p", "n"), "Succeeded"],
    ["that has failed", pod("p", "n"), "Failed"],
  ])("of a pod %s is done at once, sent as a mark and an end", (_which, body, phase) => {
    const embedded = new Embedded();
    embedded.ask("POST", PODS, body);
    embedded.ask("PATCH", `${PODS}/p/status`, { status: { phase } }, "merge");
    const watch = embedded.watch(`${PODS}?watch=1&resourceVersion=${embedded.api.store.revision}`);
    expect(embedded.ask("DELETE", `${PODS}/p`).object.kind).toBe("Pod");
    expect(watch.events.map(({ type }) => type)).toEqual(["MODIFIED", "DELETED"]);
  });

  test("with preconditions of another object or state is refused", () => {
    const embedded = new Embedded();
    const { object } = embedded.ask("POST", PODS, pod("p"));
    const attempt = (preconditions: object) => embedded.ask("DELETE", `${PODS}/p`, { preconditions });
    expect(attempt({ uid: OTHER_UID })).toMatchObject({
      status: 409,
      object: { reason: "Conflict", message: expect.stringContaining("does not match the UID in record") },
    });
    expect(attempt({ resourceVersion: "1" }).status).toBe(409);
    const { uid, resourceVersion } = object.metadata;
    expect(attempt({ uid, resourceVersion }).status).toBe(200);
  });

  test("waits for finalizers", () => {
    const embedded = new Embedded();
    embedded.ask("POST", NODES, { metadata: { name: "a", finalizers: ["x.example/a", "x.example/b"] } });
    const marked = embedded.ask("DELETE", `${NODES}/a`);
    expect(marked.object.metadata).toMatchObject({
      deletionTimestamp: "2026-01-01T00:00:00Z",
      deletionGracePeriodSeconds: 0,
    });
    const hold = (finalizers: string[] | null) =>
      embedded.ask("PATCH", `${NODES}/a`, { metadata: { finalizers } }, "merge");
    expect(hold(["x.example/a"]).status).toBe(200);
    expect(embedded.ask("POST", NODES, node("a")).object.message).toBe(
      'object is being deleted: nodes "a" already exists',
    );
    expect(hold(null).status).toBe(200);
    expect(embedded.ask("GET", `${NODES}/a`).status).toBe(404);
  });

  test("of a namespace leaves it terminating, unless refused", () => {
    const embedded = new Embedded();
    embedded.ask("POST", "/api/v1/namespaces", { metadata: { name: "x" } });
    expect(embedded.ask("DELETE", "/api/v1/namespaces/x").object).toMatchObject({ status: { phase: "Terminating" } });
    expect(embedded.ask("POST", "/api/v1/namespaces/x/pods", pod("p"))).toMatchObject({
      status: 403,
      object: { details: { causes: [{ reason: "NamespaceTerminating" }] } },
    });
    expect(embedded.ask("DELETE", "/api/v1/namespaces/default").status).toBe(403);
  });
});
