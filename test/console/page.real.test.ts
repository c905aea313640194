/** The dashboard in a real browser: what it shows, what it follows, and what it shows without an answer. */
import { afterEach, expect, test } from "vitest";
import { SNAPSHOT_MS } from "../../services/console/console.events.ts";
import { type RunningConsole, startConsole } from "../../services/console/console.http.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { judgedNode, judgedPod, judgedZone, type LedgerWorld, ledgerWorld } from "../ledger/ledger-world.ts";
import { describeWithChromium, openPage, type Page } from "../support/chromium.ts";
import { observedNode } from "../support/observed-objects.ts";
import { until } from "../support/until.ts";

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

  test("reports that it is disconnected when the process has ended", async () => {
    const { clock } = await open();
    await shows("link", /^live$/, clock);
    await served.close();
    await shows("link", /disconnected, retrying/);
  });
});
