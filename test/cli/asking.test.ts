/** `vigil get` and `vigil explain` against a console: notes, failures, control characters and interruptions. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { runCommandLine } from "../../services/cli/command-line.ts";
import { consoleThat } from "./console-that.ts";
import { fakeHost } from "./fake-host.ts";

describe("an answer that is cut short or empty gets a note on standard error", () => {
  const node = { name: "n1", readiness: "unknown", since: 0, heartbeatAt: 0, eviction: "unmarked", zone: "" };
  const watchHealth = { shards: 64, blindShards: 0, oldestPulseMs: 1, watches: { nodes: 1, leases: 1, pods: 1 } };
  const pod = { namespace: "shop", name: "cart-0", uid: "u", node: "n1", deadlineAt: null, taint: null };

  test.each([
    [["nodes", "--limit=1"], { total: 6, nodes: [node] }, "1 of 6 nodes is shown; --limit=6 shows all"],
    [["nodes", "--readiness=unknown"], { total: 2, nodes: [node] }, "1 of 2 nodes is shown; --limit=2 shows all"],
    [
      ["timers"],
      { count: 20_000, next: [pod, pod] },
      "2 of 20000 timers are shown; the largest limit is --limit=10000",
    ],
    [["nodes", "--readiness=unknown"], { total: 2, nodes: [node, node] }, ""],
    [["timers", "--output=json"], { count: 1, next: [pod] }, ""],
    [["timers", "-o", "json"], { count: 1, next: [pod] }, ""],
    [["timers", "-ojson"], { count: 1, next: [pod] }, ""],
    [["timers", "-oyaml"], { count: 1, next: [pod] }, ""],
    [["zones"], { zones: [], watchHealth }, "there are no zones"],
    [["timers"], { count: 0, next: [] }, "there are no timers"],
    [["policies"], { policies: [] }, "there are no policies"],
    [["nodes", "--readiness=unknown"], { total: 0, nodes: [] }, "there are no unknown nodes"],
  ])("get %j", async (words, answer, note) => {
    const server = await consoleThat((_, response) => response.end(JSON.stringify(answer)));
    const host = fakeHost();
    expect(await runCommandLine(["get", ...words, server], host)).toBe(0);
    expect(host.err()).toBe(note === "" ? "" : `vigil: ${note}\n`);
  });
});

test.each([
  ["zones", { zones: [], pendingEvictions: 0 }],
  ["nodes", { total: 0, nodes: [] }],
  ["timers", { count: 0, next: [] }],
  ["policies", { policies: [] }],
])("get %s of a process without synced watches warns that it may be stale, and why", async (topic, answer) => {
  const watchHealth = {
    shards: 64,
    blindShards: 64,
    oldestPulseMs: 1,
    watches: { nodes: null, leases: 9, pods: null },
  };
  const server = await consoleThat((_, response) => response.end(JSON.stringify({ ...answer, watchHealth })));
  const host = fakeHost();
  expect(await runCommandLine(["get", topic, server], host)).toBe(0);
  expect(host.err()).toContain(
    "vigil: blind in 64 of 64 shards: the watch of nodes and pods is not synced; " +
      "no evictions are decided there, and this output may be stale\n",
  );
});

describe("control characters reach no terminal", () => {
  const evil = "n1\u001b]0;owned\u0007\r\nvigil: all is well";
  const shown = "n1\\x1b]0;owned\\x07\\r\\nvigil: all is well";

  test("in an explanation", async () => {
    const object = { kind: "Node", namespace: "", name: evil, uid: "u" };
    const explanation = { sentences: [`Node ${evil} is ready.`], timeline: [{ at: 0, object, text: evil, times: 1 }] };
    const server = await consoleThat((_, response) => response.end(JSON.stringify(explanation)));
    const host = fakeHost();
    expect(await runCommandLine(["explain", "node", "n1", server], host)).toBe(0);
    expect(host.out().split("\n")).toEqual([
      `Node ${shown} is ready.`,
      "",
      "What led there:",
      `  1970-01-01T00:00:00Z  node ${shown} ${shown}`,
      "",
    ]);
  });

  test("in a table", async () => {
    const node = { name: evil, readiness: "ready", since: 0, heartbeatAt: 0, eviction: "unmarked", zone: "" };
    const answer = { total: 1, nodes: [node] };
    const server = await consoleThat((_, response) => response.end(JSON.stringify(answer)));
    const host = fakeHost();
    expect(await runCommandLine(["get", "nodes", server], host)).toBe(0);
    expect(host.out().split("\n")).toEqual([expect.stringMatching(/^NODE /), expect.stringContaining(shown), ""]);
  });

  // CSI as one character, and characters that reverse the text.
  const eight = `${evil}\u009b2J\u202e\u2028\u{e0001}`;
  test.each([
    ["json", (text: string): unknown => JSON.parse(text)],
    ["yaml", (text: string): unknown => parse(text)],
  ])("in %s; its text stays the same", async (output, read) => {
    const node = { name: eight, readiness: "ready", since: 0, heartbeatAt: 0, eviction: eight, zone: "" };
    const answer = { total: 1, nodes: [node] };
    const server = await consoleThat((_, response) => response.end(JSON.stringify(answer)));
    const host = fakeHost();
    expect(await runCommandLine(["get", "nodes", "-o", output, server], host)).toBe(0);
    expect(host.out().replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    const items = [expect.objectContaining({ name: eight, eviction: eight })];
    expect(read(host.out())).toEqual({ kind: "List", items });
  });

  test("in an error of the console", async () => {
    const server = await consoleThat((_, response) => response.writeHead(404).end(JSON.stringify({ error: evil })));
    const host = fakeHost();
    expect(await runCommandLine(["explain", "node", "n1", server], host)).toBe(1);
    expect(host.err()).toBe(`vigil: ${shown}\n`);
  });
});

test("get zones over TLS from a console without TLS fails with one line", async () => {
  const server = await consoleThat((_, response) => response.end());
  const host = fakeHost();
  expect(await runCommandLine(["get", "zones", server.replace("http:", "https:")], host)).toBe(1);
  expect(host.err()).toMatch(
    /^vigil: no console at https:\S+ \(--server\): the server does not use TLS, write it with http:\/\/; .*\n$/,
  );
});

test.each([
  [["node", "n1"], "/api/explain/node/n1"],
  [["no/n1"], "/api/explain/node/n1"],
  [["pod", "shop/cart-0"], "/api/explain/pod/shop/cart-0"],
  [["-n", "shop", "pod", "cart-0"], "/api/explain/pod/shop/cart-0"],
  [["pods/cart-0", "--namespace=shop"], "/api/explain/pod/shop/cart-0"],
  [["pod/shop/cart-0"], "/api/explain/pod/shop/cart-0"],
  [["zone", "eu/b"], "/api/explain/zone/eu%2Fb"],
  [["policy", "gpu"], "/api/explain/policy/gpu"],
  [["nodepolicy/gpu"], "/api/explain/policy/gpu"],
  [["nodepolicies", "gpu"], "/api/explain/policy/gpu"],
  [["policies", "gpu"], "/api/explain/policy/gpu"],
  [["npol", "gpu"], "/api/explain/policy/gpu"],
  [["np", "gpu"], "/api/explain/policy/gpu"],
])("explain %j queries %s", async (words, path) => {
  const asked: (string | undefined)[] = [];
  const server = await consoleThat(({ url }, response) => {
    asked.push(url);
    response.end(JSON.stringify({ sentences: [], timeline: [] }));
  });
  expect(await runCommandLine(["explain", ...words, server], fakeHost())).toBe(0);
  expect(asked).toEqual([path]);
});

describe("explain", () => {
  const object = { kind: "Node", namespace: "", name: "n1" };
  const now = fakeHost().wallMs();
  const timeline = [7_200_000, 60_000].map((ageMs) => ({ id: "1", at: now - ageMs, object, text: "judged", times: 1 }));
  const explain = async (...words: string[]) => {
    const server = await consoleThat((_, response) =>
      response.end(JSON.stringify({ sentences: ["n1 is ready."], names: [[]], timeline })),
    );
    const host = fakeHost();
    expect(await runCommandLine(["explain", "node/n1", ...words, server], host)).toBe(0);
    return host.out();
  };

  test("--since leaves out what is older", async () => {
    expect(await explain()).toMatch(/10:00:00Z.*\n.*11:59:00Z/);
    expect(await explain("--since=1h")).not.toContain("10:00:00Z");
  });

  test.each([
    ["json", (text: string): unknown => JSON.parse(text)],
    ["yaml", (text: string): unknown => parse(text)],
  ])("-o %s prints a document", async (output, read) => {
    expect(read(await explain("-o", output, "--since=1h"))).toMatchObject({
      sentences: ["n1 is ready."],
      timeline: [{ at: "2026-11-20T11:59:00.000Z", object, text: "judged" }],
    });
  });
});

describe("a pod without a namespace is explained in", () => {
  const contexts = ["prod", "dev"].map((name) => ({ name, context: { cluster: "c", namespace: `of-${name}` } }));
  const plain = { name: "plain", context: { cluster: "c" } };
  const config = { "current-context": "prod", contexts: [...contexts, plain] };
  let folder = "";
  const explained = async (...words: string[]) => {
    folder = mkdtempSync(join(tmpdir(), "vigil-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const kubeconfig = join(folder, "kubeconfig");
    writeFileSync(kubeconfig, JSON.stringify(config));
    const asked: (string | undefined)[] = [];
    const server = await consoleThat(({ url }, response) => {
      asked.push(url);
      response.end(JSON.stringify({ sentences: [], timeline: [] }));
    });
    const host = { ...fakeHost(), environment: { KUBECONFIG: kubeconfig } };
    expect(await runCommandLine(["explain", "pod", "cart-0", ...words, server], host)).toBe(0);
    return asked[0];
  };

  test.each([
    ["that of the current context", [], "of-prod"],
    ["that of --context", ["--context=dev"], "of-dev"],
    ["default where the context has none", ["--context=plain"], "default"],
    ["that of -n", ["-n", "shop"], "shop"],
  ])("%s", async (_, words, namespace) => {
    expect(await explained(...words)).toBe(`/api/explain/pod/${namespace}/cart-0`);
  });
});

describe("the console that is asked", () => {
  const get = async (environment: Record<string, string>, ...words: string[]) => {
    const host = { ...fakeHost(), environment };
    const code = await runCommandLine(["get", "zones", ...words], host);
    return { code, err: host.err() };
  };

  test("is that of VIGIL_SERVER without --server", async () => {
    const server = await consoleThat((_, response) => response.end(JSON.stringify({ zones: [] })));
    const VIGIL_SERVER = server.replace("--server=", "");
    expect(await get({ VIGIL_SERVER })).toMatchObject({ code: 0 });
    expect(await get({ VIGIL_SERVER: "http://127.0.0.1:1" }, server)).toMatchObject({ code: 0 });
  });

  test.each([
    [{ VIGIL_SERVER: "http://127.0.0.1:1" }, "no console at http://127.0.0.1:1 (VIGIL_SERVER): "],
    [{ VIGIL_SERVER: "nowhere" }, "VIGIL_SERVER=nowhere: not a URL; write it as http://127.0.0.1:8080"],
  ])("is named in a failure, and its place: %j", async (environment, problem) => {
    expect((await get(environment)).err).toContain(`vigil: ${problem}`);
  });
});

test("get fleet asks a console for the members", async () => {
  const member = { member: "m-0", services: ["ledger"], since: 0, lagMs: 2, clusterUid: null, unableSince: null };
  const server = await consoleThat(({ url }, response) => {
    expect(url).toBe("/api/fleet");
    response.end(JSON.stringify([{ ...member, withheld: [], shards: 64 }]));
  });
  const [table, json] = [fakeHost(), fakeHost()];
  expect(await runCommandLine(["get", "fleet", server], table)).toBe(0);
  expect(table.out()).toMatch(/^MEMBER .*\nm-0 +\S+ h +64 of 64 +2 ms +- +ok +ledger\n$/);
  expect(await runCommandLine(["get", "members", "-o", "json", server], json)).toBe(0);
  expect(JSON.parse(json.out())).toMatchObject({ items: [{ member: "m-0", since: "1970-01-01T00:00:00.000Z" }] });
});

describe("get for programs", () => {
  const zone = { title: "eu/b", zone: "eu:\u0000:b", state: "Normal", since: 0, size: 9, notReady: 1, halted: false };
  const zones = [{ ...zone, taintsPerSecond: Math.fround(0.1), tokens: Math.fround(0.3), queueLength: 2 }];
  const node = { readiness: "ready", ready: "True", since: 0, heartbeatAt: 1500.25, eviction: "unmarked" };
  const nodes = [{ ...node, name: "n1", zone: "eu:\u0000:b" }];
  const taint = { key: "k", effect: "NoExecute" };
  const pod = { namespace: "shop", name: "cart-0", uid: "u", node: "n1", taint, tolerationSeconds: 30 };
  const next = [{ ...pod, deadlineAt: 30_000 }];
  const get = async (...words: string[]) => {
    const server = await consoleThat((_, response) =>
      response.end(JSON.stringify({ total: 1, nodes, count: 1, next, zones })),
    );
    const host = fakeHost();
    expect(await runCommandLine(["get", ...words, server], host)).toBe(0);
    return host.out();
  };

  test.each([
    [
      "zones",
      {
        zone: "eu/b",
        zoneKey: "eu:\u0000:b",
        state: "Normal",
        halted: false,
        since: "1970-01-01T00:00:00.000Z",
        size: 9,
        notReady: 1,
        taintsPerSecond: 0.1,
        tokens: 0.3,
        queueLength: 2,
      },
    ],
    [
      "nodes",
      {
        name: "n1",
        readiness: "ready",
        ready: "True",
        eviction: "unmarked",
        since: "1970-01-01T00:00:00.000Z",
        heartbeatAt: "1970-01-01T00:00:01.500Z",
        zone: "eu/b",
        zoneKey: "eu:\u0000:b",
      },
    ],
    ["pods", { ...pod, deadlineAt: "1970-01-01T00:00:30.000Z" }],
  ])("prints %s with ISO 8601, rates as set, zones by name", async (topic, document) => {
    expect(JSON.parse(await get(topic, "-o", "json"))).toEqual({ kind: "List", items: [document] });
    expect(parse(await get(topic, "-o", "yaml"))).toEqual({ kind: "List", items: [document] });
  });

  test("prints one node by its name without a list", async () => {
    expect(JSON.parse(await get("node", "n1", "-o", "json"))).toMatchObject({ name: "n1" });
    expect(await get("node", "n1", "-o", "jsonpath={.readiness}")).toBe("ready");
  });

  test.each([
    [["nodes", "-o", "jsonpath={.items[*].zone}"], "eu/b"],
    [["nodes", "-ojsonpath={.items[0].zoneKey}"], "eu:\\x00:b"],
    [["zones", '--output=jsonpath={range .items[*]}{.zone}{"\\t"}{.taintsPerSecond}{"\\n"}{end}'], "eu/b\t0.1\n"],
  ])("prints what the JSONPath of %j says", async (words, out) => {
    expect(await get(...words)).toBe(out);
  });

  test("shows the last heartbeat of a ready node too", async () => {
    expect(await get("nodes")).toMatch(/^n1 +ready +\S+ h +\S+ h ago /m);
  });
});

test("get nodes --policy asks for the nodes of one policy", async () => {
  const asked: (string | undefined)[] = [];
  const server = await consoleThat(({ url }, response) => {
    asked.push(url);
    response.end(JSON.stringify({ total: 0, nodes: [], policies: [{ name: "gpu" }] }));
  });
  expect(await runCommandLine(["get", "nodes", "--policy=gpu", server], fakeHost())).toBe(0);
  expect(asked).toEqual(["/api/nodes?limit=1000&policy=gpu", "/api/policies"]);
});

test.each([
  [["get", "nodse"], "get nodse: did you mean get nodes?"],
  [["get", "pods", "--zone=b"], "get timers --zone=b: only get nodes takes it"],
  [["get", "policies", "--policy=gpu"], "get policies --policy=gpu: only get nodes takes it"],
  [["get", "zones", "--nats=nats://u:hunter2@n"], "get zones --nats=nats://***@n: only get fleet takes it"],
  [["get", "node/n1", "zone/b"], "get node/n1 zone/b: name objects of one kind, as in get node/worker-7 node/worker-8"],
  [["get", "node/"], "get node/: name objects of one kind, as in get node/worker-7 node/worker-8"],
  [["get", "nodes", "-n", "shop"], "get nodes --namespace=shop: only get timers and get stuck take it"],
  [
    ["get", "zones", "-l", "a=b"],
    "get zones --selector=a=b: only get nodes, get policies, get timers and get stuck take it",
  ],
  [["get", "nodes", "--sort-by=.a[?(b)]"], "--sort-by=.a[?(b)]: the path is not understood; write it as .since"],
  [
    ["get", "nodes", "-o", "custom-columns=name"],
    '-o custom-columns=name: "name" is not understood; write it as NAME:.name,ZONE:.zone',
  ],
  [["get"], "get: name one of zones, nodes, policies, freezes, timers, stuck, fleet"],
  [["get", "zones", "--output-watch-events"], "--output-watch-events: has no effect without --watch"],
  [
    ["get", "zones", "-oymal"],
    '-o=ymal: "ymal" is none of table, wide, name, json, yaml, jsonpath=, custom-columns=; did you mean yaml?',
  ],
])("%j is refused with one line", async (words, problem) => {
  const host = fakeHost();
  expect(await runCommandLine(words, host)).toBe(2);
  expect(host.err()).toBe(`vigil: ${problem}\n`);
});

test.each([
  ["get", "zones"],
  ["explain", "node", "n1"],
])("%s %s, interrupted before an answer, fails at once with one line", async (...words) => {
  const host = fakeHost();
  const server = await consoleThat(() => host.stop());
  expect(await runCommandLine([...words, server], host)).toBe(1);
  expect(host.err()).toBe("vigil: interrupted before the console answered\n");
});

test("get zones fails with one line when the answer is cut off", async () => {
  const host = fakeHost();
  const server = await consoleThat((_, response) => {
    response.write("[", () => response.destroy());
  });
  expect(await runCommandLine(["get", "zones", server], host)).toBe(1);
  expect(host.err()).toMatch(/^vigil: http:\S+\/api\/overview: the answer was cut off: .+\n$/);
});

test("get fleet, interrupted while NATS does not answer, fails at once with one line", async () => {
  const host = fakeHost();
  host.stop();
  expect(await runCommandLine(["get", "fleet", "--nats=nats://127.0.0.1:1"], host)).toBe(1);
  expect(host.err()).toBe("vigil: interrupted before the members of the fleet were known\n");
});
