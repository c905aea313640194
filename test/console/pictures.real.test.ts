/**
 * The pictures of the dashboard in docs/images, of a cluster in trouble. They are written to the folder SCREENSHOTS:
 * `SCREENSHOTS=docs/images npx vitest run test/console/pictures.real.test.ts`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { type RunningConsole, startConsole } from "../../services/console/console.http.ts";
import { nodePolicyOf } from "../../services/domain/node-policy.parse.ts";
import { policySet } from "../../services/domain/node-policy.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { fixedPolicies } from "../../services/platform/node-policies/policy-receiver.ts";
import {
  askedEviction,
  donePod,
  judgedNode,
  judgedPod,
  judgedZone,
  type LedgerWorld,
  ledgerWorld,
  seePulses,
  UNREACHABLE,
} from "../ledger/ledger-world.ts";
import { describeWithChromium, openPage, type Page } from "../support/chromium.ts";
import { observedNode } from "../support/observed-objects.ts";
import { until } from "../support/until.ts";

const MINUTE_MS = 60_000;
/** Pictures end here, or where the page does. */
const HEIGHT_MAX = 1600;
/** A picture has at most this many bytes, so that the repository stays small. */
const BYTES_MAX = 100_000;
const ZONES = ["eu-west-1a", "eu-west-1b", "eu-west-1c"];
const NODES_PER_ZONE = 60;

let served: RunningConsole;
let page: Page;
afterEach(async () => {
  await page.close();
  await served.close();
});

/** Two hours of a cluster: some nodes come and go, then the second zone fails in part. */
function troubledCluster(): LedgerWorld {
  const gpu = nodePolicyOf("gpu", {
    selector: {},
    circuitBreaker: { maxNodes: 2, duration: "10m", resetAfter: "30m" },
  });
  const world = ledgerWorld({ policies: fixedPolicies(policySet([gpu])) });
  const judge = (
    zone: number,
    node: number,
    readiness: "ready" | "unknown",
    eviction: "unmarked" | "toBeEvicted" | "evicted",
  ) => {
    const policy = node % 10 === 3 ? { policy: "gpu" } : {};
    const name = `worker-${"abc"[zone]}-${node}`;
    const at = {
      zone: `eu-west-1:\u0000:${ZONES[zone]}`,
      since: world.clock.wallMs(),
      heartbeatAt: world.clock.wallMs() - 50_000,
      ...policy,
    };
    const ready = readiness === "ready" ? "True" : "Unknown";
    const taints = eviction === "evicted" ? [UNREACHABLE] : [];
    world.receive("observed.node", observedNode(name, { ready, taints }), null);
    world.receive("judged.node", judgedNode(name, { readiness, eviction, ...at }), null);
  };
  const zoneAs = (zone: number, changes: Parameters<typeof judgedZone>[0]) =>
    world.receive(
      "judged.zone",
      judgedZone({ zone: `eu-west-1:\u0000:${ZONES[zone]}`, size: NODES_PER_ZONE, ...changes }),
      null,
    );
  for (const zone of ZONES.keys()) {
    for (let node = 0; node < NODES_PER_ZONE; node++) judge(zone, node, "ready", "unmarked");
    zoneAs(zone, {});
  }
  for (let minute = 0; minute < 100; minute += 9) {
    judge(minute % 3, minute % NODES_PER_ZONE, "unknown", "unmarked");
    world.clock.advance(9 * MINUTE_MS);
    judge(minute % 3, minute % NODES_PER_ZONE, "ready", "unmarked");
  }
  for (let node = 0; node < 36; node++) judge(1, node, "unknown", node < 3 ? "evicted" : "toBeEvicted");
  const since = world.clock.wallMs();
  const disrupted = { state: "PartialDisruption", since, notReady: 36, taintsPerSecond: Math.fround(0.01) } as const;
  zoneAs(1, { ...disrupted, queueLength: 36 });
  for (let pod = 0; pod < 9; pod++) {
    world.clock.advance(MINUTE_MS);
    const evicted = { name: `api-${pod}`, uid: `uid-api-${pod}`, node: `worker-b-${pod % 4}` };
    const asked = world.receive("asked.eviction", askedEviction(evicted), null);
    world.receive("done.write", donePod("asked.eviction", evicted), asked);
  }
  for (let pod = 0; pod < 14; pod++) {
    const deadlineAt = world.clock.wallMs() + 90_000 + 40_000 * (pod % 4);
    const names = { namespace: "shop", name: `cart-${pod}`, uid: `uid-${pod}`, node: `worker-b-${pod % 4}` };
    world.receive("judged.pod", judgedPod({ ...names, deadlineAt }), null);
  }
  const limits = { selected: 18, unhealthy: 4, condemned: 2, inWindow: 2, permits: [] };
  const hold = { policy: "gpu", field: "circuitBreaker", untilAt: null, detail: "2 in 10m", nodes: 2 };
  const resetAt = world.clock.wallMs() + 18 * MINUTE_MS;
  const memory = { trippedAt: since, resetAt, isStorm: false, stormEndedAt: null, condemnations: [] };
  world.receive("judged.limits", { policy: "gpu", ...limits, holds: [hold], memory }, null);
  zoneAs(0, {});
  zoneAs(1, { ...disrupted, queueLength: 32 });
  zoneAs(2, {});
  seePulses(world);
  world.clock.advance(1000);
  seePulses(world);
  return world;
}

async function open({ clock, transport, metrics, io, ledger }: LedgerWorld): Promise<void> {
  served = await startConsole({ host: "127.0.0.1", port: 0, clock, log: io.log, metrics });
  const bus = { transport, clock, cluster: "prod", service: "console", member: "vigil-0", log: io.log, metrics };
  const able = { lagMs: 2, unableSince: null, withheld: [] };
  const services = ["observer", "node", "zone", "taint-manager", "node-writer", "pod-writer", "ledger"];
  const since = clock.wallMs() - 3 * 3_600_000;
  served.show({
    clock,
    bus: typedBus({ ...bus, mailboxMessagesMax: 1000 }),
    profile: io.profile,
    about: { cluster: "prod", member: "vigil-0", services, shadow: false, beside: false, version: "0.0.0" },
    ledger: ledger.reader,
    fleet: async () => ["vigil-0", "vigil-1"].map((member) => ({ member, services, since, shards: 224, ...able })),
  });
  page = await openPage(served.url);
}

/** The parts of the page that show nothing yet, with the canvases of the timeline: three bars, and the zones. */
const EMPTY_PARTS = `[
  ...["troubled", "zones", "held-back", "wrong-pods"].filter((id) => document.getElementById(id).innerText === ""),
  ...(document.querySelectorAll("#timeline canvas").length === 6 ? [] : ["timeline"]),
]`;
/** Writes a picture into the folder SCREENSHOTS, if it is given. */
function write(file: string, picture: Buffer): void {
  const folder = process.env.SCREENSHOTS;
  if (folder !== undefined) writeFileSync(join(folder, file), picture);
}

describeWithChromium("a picture of the dashboard", () => {
  test.each(
    [390, 768, 1440].flatMap((width) => (["light", "dark"] as const).map((scheme) => [width, scheme] as const)),
  )("of %d px in %s is in the docs", async (width, scheme) => {
    await open(troubledCluster());
    await page.show(width, scheme);
    const seen = async () => ({ problems: page.problems, empty: await page.evaluate<string[]>(EMPTY_PARTS) });
    await expect.poll(seen, { timeout: 30_000, interval: 50 }).toEqual({ problems: [], empty: [] });
    // Rows drawn before the console's first snapshot count ages by the clock of this machine.
    const isOfConsole = () => page.evaluate<boolean>(`!/\\d d /.test(document.getElementById("troubled").innerText)`);
    await until("ages are counted by the console's clock", isOfConsole, { everyMs: 50 });
    const picture = await page.picture(HEIGHT_MAX);
    expect(page.problems).toEqual([]);
    expect(picture.length).toBeLessThan(BYTES_MAX);
    const file = `dashboard-${width}-${scheme}.webp`;
    write(file, picture);
    const kept = readFileSync(new URL(`../../docs/images/${file}`, import.meta.url));
    expect(kept.subarray(8, 12).toString()).toBe("WEBP");
  });
});
