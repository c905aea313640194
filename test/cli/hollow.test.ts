/** `vigil hollow` on the command line: what its words and flags mean, and a run that takes orders. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { kubeconfigOf } from "../../services/cli/apiserver/served-api.ts";
import { hollowSpecs } from "../../services/cli/hollow/hollow-process.ts";
import { ORDER_SETTINGS, orderOf } from "../../services/cli/hollow/order.ts";
import { isComplete, progressLine, summaryLine } from "../../services/cli/hollow/progress.ts";
import { hollowVerb } from "../../services/cli/verbs/hollow.ts";
import { parseFlags } from "../../services/platform/config/flags.ts";
import type { ValuesOf } from "../../services/platform/config/value.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { processFiles } from "../../services/platform/process/process.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { listen } from "../../services/sandbox/apiserver/http/http-front.ts";
import { seededRandom } from "../support/random.seeded.ts";
import { until } from "../support/until.ts";
import { fakeHost } from "./fake-host.ts";

function order(...argv: string[]) {
  const { given, words } = parseFlags(argv, ORDER_SETTINGS);
  const values = Object.entries(ORDER_SETTINGS).map(([key, { standard }]) => [key, given.get(key) ?? standard]);
  return orderOf(words, Object.fromEntries(values) as ValuesOf<typeof ORDER_SETTINGS>);
}

describe("an order", () => {
  it.each([
    [["stop"], { order: "stop", selector: {} }],
    [["resume", "--match=n-1.*"], { order: "resume", selector: { match: "n-1.*" } }],
    [["stop", "--zone=z", "--fraction=0.3"], { order: "stop", selector: { zone: "z", fraction: 0.3 } }],
    [["remove", "--node=a,b"], { order: "remove", selector: { names: ["a", "b"] } }],
    [["lag", "45s"], { order: "lag", selector: {}, durationMs: 45_000 }],
    [["flap", "0"], { order: "flap", selector: {}, durationMs: 0 }],
    [
      ["set", "--condition=MemoryPressure=True"],
      { order: "set", selector: {}, condition: { type: "MemoryPressure", status: "True" } },
    ],
  ])("is read from %j", (argv, read) => {
    expect(order(...argv)).toEqual(read);
  });

  it.each([
    [
      ["stpo"],
      "hollow stpo: no such order; the orders are stop, resume, set, lag, flap, remove, status; did you mean stop?",
    ],
    [["stop", "now"], "hollow stop now: unexpected argument: now"],
    [["lag"], "hollow lag: needs a duration, as in vigil hollow lag 45s"],
    [["flap", "long"], "hollow flap long: not a duration; write it as vigil hollow flap 45s"],
    [["lag", "99999999h"], "hollow lag 99999999h: not a duration; write it as vigil hollow lag 45s"],
    [["set"], "--condition=: write it as MemoryPressure=True"],
    [["set", "--condition=Ready=Maybe"], "--condition=Ready=Maybe: write it as MemoryPressure=True"],
    [["stop", "--match=("], "--match=(: not a regular expression"],
  ])("from %j is refused in one line", (argv, problem) => {
    expect(() => order(...argv)).toThrow(problem);
  });
});

describe("progress", () => {
  const summary = { nodes: 10, registered: 5, stopped: 1, pods: 20, podsCreated: 10 };

  it("is a bar over nodes and pods together", () => {
    expect(progressLine(summary)).toBe("[###############---------------] 5 of 10 nodes, 10 of 20 pods");
    expect(progressLine({ ...summary, registered: 10, pods: 0, podsCreated: 0 })).toBe(
      "[##############################] 10 of 10 nodes",
    );
    expect(summaryLine(summary)).toBe("10 nodes, 5 registered, 1 stopped, 20 pods");
  });

  it("is complete with the last node and the last pod", () => {
    const done = { ...summary, registered: 10, podsCreated: 20 };
    expect([
      isComplete(done),
      isComplete({ ...done, registered: 9 }),
      isComplete({ ...done, podsCreated: 19 }),
    ]).toEqual([true, false, false]);
  });
});

test("nodes are named by number and spread over the zones", () => {
  const settings = { nodes: 3, zones: 2, podsPerNode: 4, namePrefix: "h", noSchedule: false, removeOnStop: false };
  const labels = { "vigil.io/hollow": "true" };
  expect(hollowSpecs(settings)).toEqual([
    { name: "h-0", zone: "zone-0", pods: 4, labels },
    { name: "h-1", zone: "zone-1", pods: 4, labels },
    { name: "h-2", zone: "zone-0", pods: 4, labels },
  ]);
  expect(hollowSpecs({ ...settings, nodes: 1, zones: 0 })).toEqual([{ name: "h-0", pods: 4, labels }]);
  const taints = [{ key: "vigil.io/hollow", value: "true", effect: "NoSchedule" }];
  expect(hollowSpecs({ ...settings, nodes: 1, noSchedule: true })).toMatchObject([{ labels, taints }]);
});

test("a run registers its nodes, takes orders, and removes its nodes at the end", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hollow-"));
  const server = new ApiServer({ clock: realClock(), random: seededRandom(1) });
  const front = await listen(server, { port: 0 });
  const kubeconfig = join(folder, "kubeconfig");
  processFiles.writeFile(kubeconfig, kubeconfigOf("test", front.url));
  const flags = [`--kubeconfig=${kubeconfig}`, `--socket=${join(folder, "s.sock")}`, "--log-level=error"];
  const runner = fakeHost();
  const run = hollowVerb.start(["--nodes=5", "--pods-per-node=1", "--remove-on-stop", ...flags], runner);
  await until("the nodes are registered", () => runner.out() !== "");
  expect(runner.out()).toBe("5 nodes, 5 registered, 0 stopped, 5 pods; for orders see vigil hollow --help\n");
  const operator = fakeHost();
  await hollowVerb.start(["stop", "--zone=zone-0", ...flags], operator);
  await hollowVerb.start(["status", ...flags], operator);
  expect(operator.out()).toBe(
    "stop reached 2 nodes; now 5 nodes, 5 registered, 2 stopped, 5 pods\n5 nodes, 5 registered, 2 stopped, 5 pods\n",
  );
  await expect(hollowVerb.start(["stop", "--zone=zone-9", ...flags], operator)).rejects.toThrow(
    "stop reached 0 nodes; now 5 nodes, 5 registered, 2 stopped, 5 pods; check --node, --match, --zone and --fraction",
  );
  runner.stop();
  expect(await run).toBe(0);
  expect(await (await fetch(`${front.url}/api/v1/nodes`)).json()).toMatchObject({ items: [] });
  await expect(hollowVerb.start(["status", ...flags], operator)).rejects.toThrow("no hollow nodes take orders");
  await front.close();
  rmSync(folder, { recursive: true });
});
