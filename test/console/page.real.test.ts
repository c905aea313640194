/** The dashboard in a real browser: what it shows, what it follows, and what it shows without an answer. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { afterEach, describe, expect, test } from "vitest";
import { SNAPSHOT_MS } from "../../services/console/console.events.ts";
import { type RunningConsole, startConsole } from "../../services/console/console.http.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { judgedNode, judgedPod, judgedZone, type LedgerWorld, ledgerWorld } from "../ledger/ledger-world.ts";
import { describeWithChromium, openPage, type Page } from "../support/chromium.ts";
import { observedNode } from "../support/observed-objects.ts";
import { until } from "../support/until.ts";

/** axe-core, which checks a page for what keeps people from using it. */
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let served: RunningConsole;
let page: Page;
afterEach(async () => {
  await page.close();
  await served.close();
});

async function open(shadow = false): Promise<LedgerWorld> {
  const world = ledgerWorld();
  const { clock, transport, metrics, io, ledger } = world;
  const identity = { cluster: "test", service: "console", member: "m-0" };
  const metricsText = () => metrics.text();
  served = await startConsole({ host: "127.0.0.1", port: 0, log: io.log, metricsText });
  served.show({
    clock,
    bus: typedBus({ ...identity, transport, clock, log: io.log, metrics, mailboxMessagesMax: 1000 }),
    profile: io.profile,
    about: { cluster: "test", member: "m-0", services: [], shadow, version: "0.0.0" },
    ledger: ledger.reader,
    fleet: async () => [],
  });
  page = await openPage(served.url);
  return world;
}

/** Waits until the text of an element matches a pattern; meanwhile the clock advances, so that the stream sends. */
async function shows(id: string, pattern: RegExp, clock?: LedgerWorld["clock"]): Promise<void> {
  let text = "";
  const isShown = async (): Promise<boolean> => {
    text = await page.evaluate<string>(`document.getElementById("${id}")?.innerText ?? ""`);
    if (!pattern.test(text)) clock?.advance(SNAPSHOT_MS);
    return pattern.test(text);
  };
  await until(`${id} shows ${pattern}`, isShown, { everyMs: 50 }).catch(() => undefined);
  expect(text).toMatch(pattern);
}

describeWithChromium("the dashboard in a browser", () => {
  test("shows zones, nodes, pending evictions and decisions live", async () => {
    const { clock, receive } = await open(true);
    await shows("link", /^live$/, clock);
    await shows("about", /cluster test, member m-0, shadow: nothing is written/);
    receive(
      "judged.zone",
      judgedZone({ state: "PartialDisruption", notReady: 6, taintsPerSecond: Math.fround(0.01), queueLength: 4 }),
      null,
    );
    receive("observed.node", observedNode("n-1"), null);
    receive("judged.node", judgedNode("n-1", { readiness: "unknown" }), null);
    receive("judged.pod", judgedPod({ deadlineAt: clock.wallMs() + 3_600_000 }), null);
    await shows("zones", /a\s+PartialDisruption\s+6 of 10\s+one node every 100 s\s+1\.00\s+4/, clock);
    await shows("nodes", /unknown\s+1/, clock);
    await shows(
      "evictions",
      /in \d+ min \d+ s default\/web on n-1, node\.kubernetes\.io\/unreachable:NoExecute/,
      clock,
    );
    await shows("decisions", /zone a is PartialDisruption: 6 of 10 nodes not ready/);
    await shows("watch-health", /blind in 64 of 64/, clock);
    expect(page.problems).toEqual([]);
  });

  test("explains a node, and reports a pod that is not found", async () => {
    const { clock, receive } = await open();
    const ask = (subject: string) =>
      page.evaluate(`subject.value = ${JSON.stringify(subject)}; document.getElementById("explain").requestSubmit()`);
    await shows("link", /^live$/, clock);
    receive("observed.node", observedNode("<b>n-1"), null);
    receive("judged.node", judgedNode("<b>n-1", { readiness: "unknown" }), null);
    await ask("<b>n-1");
    await shows("explanation", /Node <b>n-1 has been unknown since[\s\S]*judged unknown: silent for/);
    await ask("default/other");
    await shows("explanation", /pod default\/other: not found in the cluster or in the history/, clock);
  });

  test("says in words what is held back, and for how long", async () => {
    const { clock, receive } = await open();
    await shows("link", /^live$/, clock);
    const disrupted = { state: "PartialDisruption", notReady: 417, size: 833, queueLength: 413 } as const;
    receive("judged.zone", judgedZone({ ...disrupted, taintsPerSecond: Math.fround(0.01) }), null);
    await shows(
      "held-back",
      /Zone a PartialDisruption since .*: 1 node per 100 s; 413 nodes would take 11 h 28 min\./,
      clock,
    );
    await shows("held-back", /^Nothing harmful is decided in 64 of 64 shards/);
    const alarm = `document.querySelector("#zones td[data-label='Not ready']").className`;
    expect(await page.evaluate(alarm)).toBe("harm");
  });

  describe("the list of nodes", () => {
    const rows = () =>
      page.evaluate<string>(`[...document.querySelectorAll("#node-list th")].map((th) => th.textContent).join()`);
    const listed = async (pattern: RegExp) => {
      let names = "";
      const isListed = async () => {
        names = await rows();
        return pattern.test(names);
      };
      await until(() => `the list is like ${pattern}; it is ${names.slice(0, 200)}`, isListed, { everyMs: 50 });
    };
    const choose = (id: string, value: string, event: string) =>
      page.evaluate(
        `{ const field = document.getElementById("${id}"); field.value = ${JSON.stringify(value)}; field.dispatchEvent(new Event("${event}")); }`,
      );
    const populate = ({ receive }: LedgerWorld, nodes: number) => {
      for (let index = 0; index < nodes; index++) {
        const name = `worker-${index}`;
        const readiness = index === 7 ? "unknown" : index === 8 ? "notReady" : "ready";
        receive("observed.node", observedNode(name), null);
        receive("judged.node", judgedNode(name, { readiness }), null);
      }
      receive("judged.zone", judgedZone({ size: nodes }), null);
    };

    test("is ordered by trouble, searched as one types, and filtered", async () => {
      const world = await open();
      populate(world, 12);
      await listed(/^worker-7,worker-8,worker-0,/);
      await choose("node-search", "worker-1", "input");
      await listed(/^worker-1,worker-10,worker-11$/);
      await choose("node-search", "", "input");
      await choose("node-readiness", "notReady", "change");
      await listed(/^worker-8$/);
      await shows("node-count", /^1 node$/);
      await shows("node-zone", /any\s+a/, world.clock);
      expect(page.problems).toEqual([]);
    });

    test("links to explanations with addresses, by keyboard too", async () => {
      const world = await open();
      populate(world, 12);
      await listed(/^worker-7,/);
      await page.evaluate(`document.getElementById("node-zone").focus()`);
      const active = () =>
        page.evaluate<string>(`document.activeElement.getAttribute("href") ?? document.activeElement.className`);
      await page.press("Tab");
      expect(await active()).toBe("#/node/worker-7");
      await page.press("Enter");
      await shows("explanation", /Node worker-7 has been unknown/);
      expect(await page.evaluate("location.hash")).toBe("#/node/worker-7");
      await page.evaluate("history.back()");
      await page.evaluate(`location.hash = "#/zone/a"`);
      await shows("explanation", /Zone a is Normal/);
    });

    test("of 5,000 nodes has only some in the page", async () => {
      const world = await open();
      populate(world, 5000);
      await listed(/^worker-7,worker-8,/);
      await shows("node-count", /^5000 nodes, the first 50 shown$/);
      expect((await rows()).split(",")).toHaveLength(50);
      for (const text of ["w", "worker-49", "worker-4999"]) await choose("node-search", text, "input");
      await listed(/^worker-4999$/);
    });

    test.each([
      [390, "light"],
      [390, "dark"],
      [768, "light"],
      [1440, "dark"],
    ] as const)("is readable at %d px in %s", async (width, scheme) => {
      const world = await open();
      await page.show(width, scheme);
      populate(world, 12);
      await listed(/^worker-7,/);
      await shows("held-back", /Nothing harmful/, world.clock);
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
      const isCut = `[...document.querySelectorAll(".wide")].some((each) => each.scrollWidth > each.clientWidth)`;
      expect(await page.evaluate(isCut)).toBe(false);
      await page.evaluate(AXE);
      const violations = await page.evaluate(
        `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))`,
      );
      expect(violations).toEqual([]);
    });
  });

  test("reports that it is disconnected when the process has ended", async () => {
    const { clock } = await open();
    await shows("link", /^live$/, clock);
    await served.close();
    await shows("link", /disconnected, retrying/);
  });
});
