/** `vigil get` as kubectl users write it: names, kinds, namespaces, order and columns. */
import { expect, test } from "vitest";
import { runCommandLine } from "../../../services/cli/command-line.ts";
import { consoleThat } from "../console-that.ts";
import { fakeHost } from "../fake-host.ts";

const node = { readiness: "unknown", ready: "Unknown", heartbeatAt: 0, eviction: "unmarked", zone: "eu:\u0000:b" };
const nodes = [
  { ...node, name: "n10", since: 9000 },
  { ...node, name: "n2", since: 10_000 },
];
const next = [
  { namespace: "shop", name: "cart-0", uid: "u", node: "n10", deadlineAt: 0, taint: null },
  { namespace: "bank", name: "safe-0", uid: "v", node: "n2", deadlineAt: 0, taint: null },
];
const zone = { state: "Normal", since: 0, size: 1, notReady: 0, taintsPerSecond: 0, tokens: 0, queueLength: 0 };
const zones = ["eu:\u0000:b", "eu:\u0000:c", "eu:\u0000:b\u0000@gpu"].map((key) => ({
  ...zone,
  zone: key,
  title: key.replace(":\u0000:", "/").replace("\u0000", ""),
}));
const policy = { mode: "Enforce", nodes: 2, unhealthy: 0, conflicts: 0, breaker: null, budget: null };
const policies = ["", "gpu", "spot"].map((name) => ({ ...policy, name, holds: [], freeze: null }));
const asked: string[] = [];
const get = async (...words: string[]) => {
  const server = await consoleThat(({ url = "" }, response) => {
    asked.push(url);
    const names = new URL(url, "http://console").searchParams.getAll("name");
    const found = url.includes("zone=x") || url.includes("policy=x") ? [] : nodes;
    const rows = found.filter(({ name }) => names.length === 0 || names.includes(name));
    response.end(JSON.stringify({ total: rows.length, nodes: rows, count: 2, next, zones, policies }));
  });
  const host = fakeHost();
  return { code: await runCommandLine(["get", ...words, server], host), out: host.out(), err: host.err() };
};

test.each([
  ["node", "node/n10\nnode/n2\n"],
  ["nodes", "node/n10\nnode/n2\n"],
  ["no", "node/n10\nnode/n2\n"],
  ["zone", "zone/eu/b\nzone/eu/c\nzone/eu/b@gpu\n"],
  ["timer", "pod/shop/cart-0\npod/bank/safe-0\n"],
  ["pod", "pod/shop/cart-0\npod/bank/safe-0\n"],
  ["pods", "pod/shop/cart-0\npod/bank/safe-0\n"],
  ["po", "pod/shop/cart-0\npod/bank/safe-0\n"],
])("%s -o name prints the kind and the name of each", async (topic, out) => {
  expect(await get(topic, "-o", "name")).toEqual({ code: 0, out, err: "" });
});

test("-o wide adds columns", async () => {
  const [heading, row] = (await get("nodes", "-owide")).out.split("\n");
  expect(heading).toMatch(/^NODE +READINESS +.*ZONE +READY +SINCE +HEARTBEAT AT +POLICY +CONDITIONS +OUT OF SERVICE$/);
  expect(row).toMatch(/Unknown +1970-01-01T00:00:09Z +1970-01-01T00:00:00Z +- +- +-$/);
  expect((await get("pods", "-owide")).out).toContain("1970-01-01T00:00:00Z");
});

test("names and --zone are sent to the console", async () => {
  await get("nodes", "n2", "--zone=b");
  expect(asked.at(-1)).toBe("/api/nodes?limit=1000&name=n2&zone=b");
});

test.each([
  [["zone", "c"], "zone/eu/c\n"],
  [["zones", "eu/c", "eu:\u0000:c"], "zone/eu/c\n"],
  [["zone/eu/c"], "zone/eu/c\n"],
  [["zones", "b"], "zone/eu/b\nzone/eu/b@gpu\n"],
  [["policy", "gpu"], "nodepolicy/gpu\n"],
  [["node/n2"], "node/n2\n"],
  [["no/n2", "node/n10"], "node/n10\nnode/n2\n"],
  [["pod/cart-0"], "pod/shop/cart-0\n"],
  [["pod/shop/cart-0"], "pod/shop/cart-0\n"],
  [["pods", "-n", "bank"], "pod/bank/safe-0\n"],
  [["pods", "-nbank", "-A"], "pod/shop/cart-0\npod/bank/safe-0\n"],
  [["nodes", "-A", "--sort-by=.name"], "node/n2\nnode/n10\n"],
  [["nodes", "--sort-by={.since}", "--limit=1"], "node/n10\n"],
])("get %j selects by name, namespace and order", async (words, out) => {
  expect(await get(...words, "-o", "name")).toMatchObject({ code: 0, out });
});

test.each([
  [["nodes", "n2", "n3"], "node/n2\n", "node n3: not found; vigil get nodes lists all"],
  [["zones", "c", "d"], "zone/eu/c\n", "zone d: not found; the zones are eu/b, eu/c and eu/b@gpu"],
  [["policy/x"], "", "nodepolicy x: not found; the policies are (all nodes), gpu and spot"],
  [["pod", "cart-1", "cart-0"], "pod/shop/cart-0\n", "pod cart-1: no eviction of it is pending"],
  [["pod", "cart-0", "-n", "bank"], "", "pod cart-0: no eviction of it is pending"],
  [["nodes", "--zone=x"], "", "--zone=x: not found; the zones are eu/b, eu/c and eu/b@gpu"],
  [["nodes", "--policy=x"], "", "--policy=x: not found; the policies are gpu and spot"],
])("get %j shows what exists, and fails for the rest", async (words, out, problem) => {
  expect(await get(...words, "-o", "name")).toEqual({ code: 1, out, err: `vigil: ${problem}\n` });
});

test("a name that is not there prints no heading", async () => {
  expect(await get("node", "n3")).toMatchObject({ code: 1, out: "" });
});

test("--no-headers leaves out the heading", async () => {
  expect((await get("pods", "--no-headers")).out).toMatch(/^shop +cart-0 .*\nbank +safe-0 .*\n$/);
});

test("-o custom-columns prints columns of the JSON", async () => {
  const output = "custom-columns=NODE:.name,POLICY:{.policy},BEAT:heartbeatAt";
  expect((await get("nodes", "-o", output)).out).toBe(
    [
      "NODE   POLICY   BEAT",
      "n10    <none>   1970-01-01T00:00:00.000Z",
      "n2     <none>   1970-01-01T00:00:00.000Z\n",
    ].join("\n"),
  );
});
