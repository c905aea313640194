/** Discovery, tokens, sockets and protobuf. A real socket is at the other end, and real time passes. */
import { request } from "node:http";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { type HttpFront, type ListenOptions, listen } from "../../../services/sandbox/apiserver/http/http-front.ts";
import { FaultyApiServer } from "../../support/faulty-apiserver.ts";
import { freePort } from "../../support/nats-server.ts";
import { seededRandom } from "../../support/random.seeded.ts";
import { until } from "../../support/until.ts";
import { Embedded, node } from "./embedded.ts";

describe("discovery", () => {
  const embedded = new Embedded();

  test("leads from the groups to every resource and its verbs", () => {
    const groups = embedded.ask("GET", "/apis").object.groups as { versions: { groupVersion: string }[] }[];
    const versions = groups.flatMap((group) => group.versions.map(({ groupVersion }) => `/apis/${groupVersion}`));
    const lists = ["/api/v1", ...versions].map((path) => embedded.ask("GET", path).object);
    const names = lists.flatMap(({ resources }) => (resources as { name: string }[]).map(({ name }) => name));
    expect(names.filter((name) => name.startsWith("pods"))).toEqual([
      "pods",
      "pods/binding",
      "pods/eviction",
      "pods/status",
    ]);
    const core = ["nodes", "nodes/status", "namespaces", "events", "serviceaccounts", "services", "configmaps"];
    const grouped = ["daemonsets", "deployments/status", "replicasets", "leases", "poddisruptionbudgets"];
    expect(names).toEqual(expect.arrayContaining([...core, ...grouped, "customresourcedefinitions"]));
    expect(embedded.ask("GET", "/apis/apps").object).toMatchObject({ kind: "APIGroup", name: "apps" });
    const version = { major: "1", minor: "36", gitVersion: expect.stringMatching(/^v1\.36\./) };
    expect(embedded.ask("GET", "/version").object).toMatchObject(version);
  });

  test("lists the objects that kubectl may validate on the server", () => {
    const index = embedded.ask("GET", "/openapi/v3").object.paths as Record<string, { serverRelativeURL: string }>;
    const document = embedded.ask("GET", index["api/v1"]?.serverRelativeURL ?? "").object;
    expect(document.paths).toHaveProperty(
      ["/api/v1/nodes/{name}", "patch", "parameters", "0", "name"],
      "fieldValidation",
    );
    expect(document.components).toEqual({ schemas: {} });
  });

  test.each([
    ["/api/v1/nothing", "Status"],
    ["/api/v1/namespaces/default/pods/p/nothing/more", "Status"],
    ["/apis/nothing/v1/x", null],
    ["/nothing", undefined],
  ])("%s leads nowhere", (path, kind) => {
    const answer = embedded.ask("GET", path);
    expect(answer.status).toBe(404);
    expect(answer.object === null ? null : answer.object.kind).toBe(kind);
  });

  test.each(["/healthz", "/livez", "/readyz"])("%s is ok", (path) => expect(embedded.ask("GET", path).text).toBe("ok"));
});

describe("a client that asks about itself", () => {
  const AUTHORIZATION = "/apis/authorization.k8s.io/v1";

  test.each([
    [`${AUTHORIZATION}/selfsubjectaccessreviews`, "SelfSubjectAccessReview", { allowed: true }],
    [
      `${AUTHORIZATION}/selfsubjectrulesreviews`,
      "SelfSubjectRulesReview",
      { resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }] },
    ],
    [
      "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      "SelfSubjectReview",
      { userInfo: { username: "system:admin" } },
    ],
  ])("at %s may do everything", (path, kind, status) => {
    const body = { apiVersion: path.split("/").slice(2, 4).join("/"), kind, spec: {} };
    const answer = new Embedded().ask("POST", path, body);
    expect([answer.status, answer.object]).toMatchObject([201, { kind, status }]);
  });
});

async function fronted(
  options: Partial<ListenOptions>,
  use: (front: HttpFront, api: FaultyApiServer) => Promise<void>,
) {
  const api = new FaultyApiServer({ clock: realClock(), random: seededRandom(1) });
  const front = await listen(api, { port: 0, ...options });
  try {
    await use(front, api);
  } finally {
    await front.close();
  }
}

describe("over a socket", () => {
  const as = (token: string) => ({ headers: { authorization: `Bearer ${token}`, "content-type": "application/json" } });
  const body = JSON.stringify(node("n"));

  test("without a valid token only probes are served", () =>
    fronted({ token: "admin" }, async ({ url }) => {
      const status = async (path: string, init: RequestInit) => (await fetch(url + path, init)).status;
      expect(await status("/api/v1/nodes", { ...as("admin"), method: "POST", body })).toBe(201);
      expect(await status("/api/v1/nodes", as("stranger"))).toBe(401);
      expect(await status("/api", {})).toBe(401);
      expect(await status("/readyz", {})).toBe(200);
    }));

  test("a Host of a web page whose name resolves to the server is refused", () =>
    fronted({}, async ({ url }) => {
      const statusUnder = (host: string) =>
        new Promise((resolve, reject) => {
          const asked = request(`${url}/api/v1/nodes`, { headers: { host } }, ({ statusCode }) => resolve(statusCode));
          asked.once("error", reject).end();
        });
      expect(await statusUnder("evil.example")).toBe(403);
      for (const host of ["127.0.0.1:8001", "localhost", "vigil-1:8001", "host.docker.internal"]) {
        expect(await statusUnder(host)).toBe(200);
      }
    }));

  test("a watch arrives event by event and leaves with its client", () =>
    fronted({}, async ({ url }, api) => {
      const aborter = new AbortController();
      const watch = await fetch(`${url}/api/v1/nodes?watch=1`, { signal: aborter.signal });
      const reader = watch.body?.getReader();
      await fetch(`${url}/api/v1/nodes`, { method: "POST", body, headers: { "content-type": "application/json" } });
      const first = await reader?.read();
      expect(JSON.parse(Buffer.from(first?.value ?? []).toString())).toMatchObject({ type: "ADDED" });
      aborter.abort();
      await until("nobody listens", () => api.store.collection("nodes").listeners === 0);
    }));

  test("a long list arrives whole, no faster than it is read", () =>
    fronted({}, async ({ url }, api) => {
      const nodes = Array.from({ length: 3_000 }, (_, index) => `n-${String(index).padStart(4, "0")}`);
      for (const name of nodes) {
        const headers = { "content-type": "application/json" };
        api.serving(null)(
          { method: "POST", path: "/api/v1/nodes", headers, body: JSON.stringify(node(name)) },
          { answer: () => undefined, broken: () => undefined },
        );
      }
      const list = await (await fetch(`${url}/api/v1/nodes`)).json();
      expect((list as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name)).toEqual(
        nodes,
      );
    }));

  test("a lost reply breaks the connection after the work is done", () =>
    fronted({}, async ({ url }, api) => {
      api.faults.add({ fault: { kind: "lostReply" }, times: 1 });
      const create = fetch(`${url}/api/v1/nodes`, {
        method: "POST",
        body,
        headers: { "content-type": "application/json" },
      });
      await expect(create).rejects.toThrow();
      expect((await fetch(`${url}/api/v1/nodes/n`)).status).toBe(200);
    }));

  test("closing frees the port though clients hold connections", async () => {
    // A port that the system does not assign by itself.
    const port = await freePort();
    await fronted({ port }, async ({ url }) => {
      await fetch(`${url}/api/v1/nodes?watch=1`);
    });
    const refused = await new Promise<string>((resolve) => {
      connect(port, "127.0.0.1").on("error", ({ message }) => resolve(message));
    });
    expect(refused).toContain("ECONNREFUSED");
  });

  test("a port in use is an error", () =>
    fronted({}, async ({ url }, api) => {
      await expect(listen(api, { port: Number(new URL(url).port) })).rejects.toThrow("EADDRINUSE");
    }));
});

test("a body in protobuf is refused with the type that is accepted", () =>
  fronted({}, async ({ url }) => {
    const headers = { "content-type": "application/vnd.kubernetes.protobuf" };
    for (const path of ["/api/v1/nodes", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"]) {
      const response = await fetch(url + path, { method: "POST", headers, body: "k8s\0" });
      expect([response.status, await response.text()]).toEqual([415, expect.stringContaining("application/json")]);
    }
  }));
