/** The dashboard in a real browser: what it shows, what it follows, and what it shows without an answer. */
import { afterEach, describe, expect, test } from "vitest";
import { SNAPSHOT_MS } from "../../services/console/console.events.ts";
import { nodePolicyOf } from "../../services/domain/node-policy.parse.ts";
import { policySet } from "../../services/domain/node-policy.ts";
import { fixedPolicies } from "../../services/platform/node-policies/policy-receiver.ts";
import {
  askedEviction,
  doneNode,
  judgedNode,
  judgedPod,
  judgedZone,
  type LedgerWorld,
  livePod,
  UNREACHABLE,
} from "../ledger/ledger-world.ts";
import { describeWithChromium } from "../support/chromium.ts";
import { observedNode } from "../support/observed-objects.ts";
import { until } from "../support/until.ts";
import { closeDashboard, openDashboard, page, served, shows, visit } from "./open-dashboard.ts";

afterEach(closeDashboard);

/** A policy whose only node waits behind a limit, and whose only pod waits for its eviction rate. */
const HOLDING = nodePolicyOf("gpu", {
  selector: { matchLabels: { pool: "fast" } },
  maxUnhealthy: 0,
  evictions: { maxPerMinute: 1 },
});
const B = "eu:\u0000:b";
/** A taint that people put on, whatever the limits of policies say. */
const REPAIR = { key: "example.com/repair", effect: "NoExecute" };

/** What the owners of that node, pod, zone and policy publish, and repeat while it holds. */
function holdBack({ clock, kube, receive }: LedgerWorld): void {
  const taints = [{ ...UNREACHABLE, timeAdded: new Date(clock.wallMs() - 1000).toISOString() }];
  receive("observed.node", observedNode("n-1", { ready: "Unknown", taints }), null);
  receive("observed.node", observedNode("n-2", { ready: "Unknown", taints: [REPAIR] }), null);
  const judged = { readiness: "unknown", ready: "Unknown", policy: "gpu", zone: B } as const;
  receive("judged.node", judgedNode("n-1", { ...judged, eviction: "evicted" }), null);
  receive("judged.node", judgedNode("n-2", { ...judged, eviction: "toBeEvicted" }), null);
  receive("judged.zone", judgedZone({ zone: B, size: 2, notReady: 2, queueLength: 1, queue: ["n-2"] }), null);
  const hold = { policy: "gpu", field: "maxUnhealthy", untilAt: null, detail: "2 of 0", nodes: 1 };
  const counts = { policy: "gpu", selected: 2, unhealthy: 2, condemned: 1, inWindow: 0, permits: [] };
  const memory = { trippedAt: null, resetAt: null, isStorm: false, stormEndedAt: null, condemnations: [] };
  receive("judged.limits", { ...counts, holds: [hold], memory }, null);
  const due = { deadlineAt: clock.wallMs(), tolerationSeconds: null };
  const taintOf = { "n-1": UNREACHABLE, "n-2": REPAIR };
  const pods = Object.entries(taintOf).map(([node, taint]) => ({
    node,
    name: `web-${node}`,
    uid: node,
    taint,
    ...due,
  }));
  for (const pod of pods) {
    const { name, uid, node } = pod;
    kube.pods.set(`default/${name}`, livePod({ metadata: { name, uid }, spec: { nodeName: node } }));
    receive("judged.pod", judgedPod({ ...pod, eviction: "due" }), null);
    receive("asked.eviction", askedEviction({ ...pod, policy: "gpu" }), null);
  }
  const queue = pods.map(({ uid }) => ({ uid, field: "evictions.maxPerMinute", expectedAt: clock.wallMs() + 60_000 }));
  const paced = { policy: "gpu", inWindow: 1, waiting: 2, oldestDeadlineAt: clock.wallMs(), permits: [], queue };
  receive("judged.evictions", paced, null);
}

/** The texts of the page, outside its links and filters, that have one of these names as a word. */
const unlinked = (names: readonly string[]) => `(() => {
  const word = new RegExp("(?<![\\w./-])(?:${names.join("|")})(?![\\w/-]|[.]\\w)");
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const { parentElement: parent, data } = texts.currentNode;
    if (word.test(data) && parent.closest("a, h2, option, title") === null) found.push(data);
  }
  return found;
})()`;

describeWithChromium("the dashboard in a browser", () => {
  test("shows zones, nodes, pending evictions and decisions live", async () => {
    const { clock, receive } = await openDashboard({ shadow: true });
    await shows("link", /^live$/, clock);
    await shows("about", /cluster test, member m-0/);
    await shows("badges", /^shadow: nothing is written$/);
    await visit("#/fleet");
    await shows("fleet", /^m-0\s+able\s+64\s/);
    receive(
      "judged.zone",
      judgedZone({ state: "PartialDisruption", notReady: 6, taintsPerSecond: Math.fround(0.01), queueLength: 4 }),
      null,
    );
    receive("observed.node", observedNode("n-1", { taints: [UNREACHABLE] }), null);
    receive("judged.node", judgedNode("n-1", { readiness: "unknown" }), null);
    receive("judged.pod", judgedPod({ deadlineAt: clock.wallMs() + 3_600_000 }), null);
    await visit("#/zones");
    await shows("zones", /a\s+PartialDisruption\s+6 of 10\s+one node every 100 s\s+1\.00\s+4/, clock);
    await visit("#/nodes");
    await shows("nodes", /unknown\s+1/, clock);
    await visit("#/evictions");
    await shows("evictions", /in \d+ min \d+ s 1 pod\s+on n-1, node\.kubernetes\.io\/unreachable:NoExecute/, clock);
    await visit("#/decisions");
    await shows("decisions", /zone a is PartialDisruption: 6 of 10 nodes not ready/);
    await visit("#/fleet");
    await shows("watch-health", /blind in 64 of 64/, clock);
    expect(page.problems).toEqual([]);
  });

  test("folds pending evictions by node, and keeps what is unfolded", async () => {
    const { clock, receive } = await openDashboard({ at: "#/evictions" });
    await shows("link", /^live$/, clock);
    const deadlineAt = clock.wallMs() + 3_600_000;
    for (const name of ["web-1", "web-2"]) receive("judged.pod", judgedPod({ name, uid: name, deadlineAt }), null);
    receive("judged.pod", judgedPod({ name: "db", uid: "db", node: "n-2", deadlineAt: deadlineAt + 1 }), null);
    await shows("evictions", /2 pods\s+on n-1[\s\S]*1 pod\s+on n-2/, clock);
    await page.evaluate(`document.querySelector("#evictions summary").focus()`);
    await page.press("Enter");
    await shows("evictions", /default\/web-[12][\s\S]*default\/web-[12]/, clock);
    const before = await page.evaluate<string>(`document.getElementById("evictions").innerText`);
    const isLater = async () => {
      clock.advance(SNAPSHOT_MS);
      return before !== (await page.evaluate<string>(`document.getElementById("evictions").innerText`));
    };
    await until("the countdown goes on", isLater, { everyMs: 50 });
    await shows("evictions", /default\/web-[12][\s\S]*default\/web-[12]/, clock);
    expect(await page.evaluate("document.activeElement.dataset.place")).toBe("n-1");
    await shows("evictions-count", /^\(3\)$/);
  });

  test("shows node policies, what they hold back, and their nodes", async () => {
    const gpu = nodePolicyOf("gpu", { selector: {}, circuitBreaker: { maxNodes: 1, duration: "1m" } });
    const world = await openDashboard({ policies: fixedPolicies(policySet([gpu])) });
    const { clock, receive } = world;
    await shows("link", /^live$/, clock);
    for (const [name, policy] of Object.entries({ "n-1": "gpu", "n-2": undefined })) {
      receive("observed.node", observedNode(name, { ready: "Unknown" }), null);
      receive("judged.node", judgedNode(name, { readiness: "unknown", ...(policy && { policy }) }), null);
    }
    const hold = { policy: "gpu", field: "circuitBreaker", untilAt: null, detail: "1 in 1m", nodes: 1 };
    const counts = { selected: 1, unhealthy: 1, condemned: 1, inWindow: 1 };
    const memory = { trippedAt: clock.wallMs(), resetAt: null, isStorm: false, stormEndedAt: null, condemnations: [] };
    receive("judged.limits", { policy: "gpu", ...counts, permits: [], holds: [hold], memory }, null);
    await visit("#/policies");
    await shows("policies", /gpu\s+Enforce\s+1\s+1\s+open\s+–\s+circuitBreaker: 1 node/, clock);
    await visit("#/nodes");
    await shows("node-list", /n-1[\s\S]*n-2/);
    await page.evaluate(
      `{ const field = document.getElementById("node-policy"); field.value = "gpu"; field.dispatchEvent(new Event("change")); }`,
    );
    await shows("node-count", /^1 node$/);
    expect(page.problems).toEqual([]);
  });

  test("links each name of a policy to its explanation, which has an address", async () => {
    const gpu = nodePolicyOf("gpu", { selector: { matchLabels: { pool: "gpu" } }, maxUnhealthy: 0 });
    const { clock, receive } = await openDashboard({ policies: fixedPolicies(policySet([gpu])) });
    await shows("link", /^live$/, clock);
    receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
    const judged = { readiness: "unknown", ready: "Unknown", eviction: "toBeEvicted", policy: "gpu" } as const;
    receive("judged.node", judgedNode("n-1", judged), null);
    receive("judged.zone", judgedZone({ size: 1, notReady: 1, queueLength: 1, queue: ["n-1"] }), null);
    const hold = { policy: "gpu", field: "maxUnhealthy", untilAt: null, detail: "1 of 0", nodes: 1 };
    const counts = { selected: 1, unhealthy: 1, condemned: 0, inWindow: 0 };
    const memory = { trippedAt: null, resetAt: null, isStorm: false, stormEndedAt: null, condemnations: [] };
    // Its owner repeats this while it holds.
    const holdBack = () =>
      receive("judged.limits", { policy: "gpu", ...counts, permits: [], holds: [hold], memory }, null);
    holdBack();
    const linked = (id: string) =>
      page.evaluate<boolean>(`document.querySelector("#${id} a[href='#/policy/gpu']") !== null`);
    await shows("held-back", /maxUnhealthy of NodePolicy gpu/, clock);
    await shows("policies", /gpu/, clock);
    await visit("#/nodes");
    await shows("node-list", /gpu/);
    for (const id of ["held-back", "policies", "node-list"]) expect(await linked(id), id).toBe(true);
    await page.evaluate(`document.querySelector("#policies a").click()`);
    await shows("explanation", /^NodePolicy gpu selects nodes by pool=gpu\.\s+It applies to 1 node: n-1\./);
    expect(await page.evaluate("location.hash")).toBe("#/policy/gpu");
    expect(await page.evaluate("subject.value")).toBe("policy gpu");
    holdBack();
    await page.evaluate(`subject.value = "n-1"; document.getElementById("explain").requestSubmit()`);
    await shows("explanation", /maxUnhealthy of NodePolicy gpu blocks it/);
    expect(await linked("explanation")).toBe(true);
    expect(page.problems).toEqual([]);
    await page.evaluate(`subject.value = "policy spot"; document.getElementById("explain").requestSubmit()`);
    await shows("explanation", /^policy spot: no node policy of this name is in force/);
  });

  test("links every name of a node, a pod, a zone or a policy, wherever it stands", async () => {
    const world = await openDashboard({ policies: fixedPolicies(policySet([HOLDING])) });
    await shows("link", /^live$/, world.clock);
    holdBack(world);
    await shows("held-back", /maxUnhealthy of NodePolicy gpu/, world.clock);
    await visit("#/evictions");
    await shows(
      "evictions",
      /waits, in \d+ s 1 pod\s+on n-1, .*, number 1 of 2 for \S+ of NodePolicy gpu/,
      world.clock,
    );
    await page.evaluate(`document.querySelector("#evictions summary").click()`);
    const names = ["n-1", "n-2", "default/web-n-1", "gpu", "eu/b"];
    for (const [address, said, linked] of [
      ["#/node/n-2", /Its zone eu\/b is Normal[\s\S]*waits for eviction in zone eu\/b/, "#/zone/eu%2Fb"],
      ["#/pod/default/web-n-1", /Pod default\/web-n-1 [\s\S]*Its node n-1/, "#/node/n-1"],
      ["#/zone/eu%2Fb", /next: n-2\.\s+Blocked: 1 node by maxUnhealthy of NodePolicy gpu\./, "#/node/n-2"],
      ["#/policy/gpu", /It applies to 2 nodes: n-1 and n-2\./, "#/node/n-2"],
    ] as const) {
      holdBack(world);
      await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
      await shows("explanation", said, world.clock);
      expect(await page.evaluate(unlinked(names)), address).toEqual([]);
      expect(await page.evaluate(`document.querySelector('#explanation p a[href="${linked}"]') !== null`)).toBe(true);
    }
    expect(page.problems).toEqual([]);
  });

  test("keeps the keyboard's place among links of the same name while the rows change", async () => {
    const world = await openDashboard({ at: "#/evictions", policies: fixedPolicies(policySet([HOLDING])) });
    await shows("link", /^live$/, world.clock);
    holdBack(world);
    await shows("evictions", /on n-2, .* of NodePolicy gpu/, world.clock);
    const last = `[...document.querySelectorAll("#evictions a[href='#/policy/gpu']")].at(-1)`;
    await page.evaluate(`window.before = ${last}; window.before.focus()`);
    const isReplaced = async () => {
      world.clock.advance(SNAPSHOT_MS);
      return page.evaluate<boolean>(`${last} !== window.before`);
    };
    await until("the rows are replaced", isReplaced, { everyMs: 50 });
    expect(await page.evaluate(`document.activeElement === ${last}`)).toBe(true);
  });

  test("links the zone that a policy has for itself by the name that people know", async () => {
    const { clock, receive } = await openDashboard({ at: "#/nodes?healthy=yes" });
    const zone = "eu:\u0000:a\u0000@gpu";
    receive("observed.node", observedNode("n-1"), null);
    receive("judged.node", judgedNode("n-1", { zone, policy: "gpu" }), null);
    receive("judged.zone", judgedZone({ zone, size: 1 }), null);
    await shows("node-count", /^1 node/, clock);
    await shows("node-list", /n-1[\s\S]*eu\/a@gpu/, clock);
    await page.evaluate(`document.querySelector("#node-list td[data-label='Zone'] a").click()`);
    await shows("explanation", /^Zone eu\/a@gpu is Normal/);
    expect(page.problems).toEqual([]);
  });

  describe("the timeline", () => {
    /** The page asks for the timeline again after ten seconds. */
    const BEFORE_REFRESH_MS = 8000;
    /** Two hours of a zone, of which it was disrupted in the second. */
    const openTimeline = async (): Promise<void> => {
      const { clock, receive } = await openDashboard();
      receive("observed.node", observedNode("n-1"), null);
      receive("judged.node", judgedNode("n-1"), null);
      receive("judged.node", judgedNode("n-1", { readiness: "unknown" }), null);
      receive("judged.zone", judgedZone(), null);
      for (let hour = 0; hour < 2; hour++) {
        clock.advance(3_600_000);
        receive("judged.zone", judgedZone({ state: "FullDisruption" }), null);
      }
      await page.evaluate("location.reload()");
      await shows("timeline", /^1 node found silent\s+0 nodes ready again\s+0 pods evicted\s+a$/);
    };
    test("draws the last hours, with a picture that can be read aloud", async () => {
      await openTimeline();
      const labels = `[...document.querySelectorAll("#timeline [role=img]")].map((each) => each.ariaLabel)`;
      expect(await page.evaluate(labels)).toContain("zone a: FullDisruption now, 1 change");
      expect(await page.evaluate(`document.querySelector("#timeline a").getAttribute("href")`)).toBe("#/zone/a");
      expect(page.problems).toEqual([]);
    });

    test.each(["light", "dark"] as const)("has the colours of its legend in %s", async (scheme) => {
      await openTimeline();
      await page.show(1440, scheme);
      // The bar of the verdict at the beginning, and the zone's two states.
      const drawn = `(() => {
        const colourAt = (lane, x) => {
          const canvas = document.querySelector("#timeline .lane:nth-child(" + lane + ") canvas");
          const { data } = canvas.getContext("2d").getImageData(x(canvas.width), canvas.height - 4, 1, 1);
          return "rgb(" + [...data].slice(0, 3).join(", ") + ")";
        };
        return [colourAt(1, () => 34), colourAt(4, (width) => width * 0.3), colourAt(4, (width) => width * 0.8)];
      })()`;
      const legend = `["harm", "well", "harm"].map((mood) => getComputedStyle(document.querySelector("#timeline-legend ." + mood)).color)`;
      let colours: unknown;
      const isDrawn = async (): Promise<boolean> => {
        colours = await page.evaluate(drawn);
        return JSON.stringify(colours) === JSON.stringify(await page.evaluate(legend));
      };
      await until(() => `all are drawn; there is ${JSON.stringify(colours)}`, isDrawn, {
        everyMs: 50,
        withinMs: BEFORE_REFRESH_MS,
      });
    });

    test("has a lane for the leads over upstream in shadow mode", async () => {
      const { clock, receive } = await openDashboard({ shadow: true });
      receive("observed.node", observedNode("n-1"), null);
      receive("done.write", doneNode("asked.condition", "n-1", { outcome: "shadowed" }), null);
      const { conditions, ...later } = observedNode("n-1", { ready: "Unknown" });
      clock.advance(40_000);
      const transitionAt = clock.wallMs();
      receive("observed.node", { ...later, conditions: conditions.map((each) => ({ ...each, transitionAt })) }, null);
      await page.evaluate("location.reload()");
      await shows("timeline", /0 pods evicted\s+40 s ahead of upstream, median of 1 node$/);
      expect(page.problems).toEqual([]);
    });

    test("says what happened where the cursor is", async () => {
      await openTimeline();
      const point = (type: string, share: number) =>
        page.evaluate(`(() => {
          const over = document.querySelector("#timeline .lane:nth-child(4) .u-over");
          const { left, top, width } = over.getBoundingClientRect();
          const place = { clientX: left + width * ${share}, clientY: top + 2, bubbles: true };
          over.dispatchEvent(new MouseEvent("${type}", place));
        })()`);
      await shows("timeline-summary", /^Since /);
      await point("mousemove", 0.001);
      await shows("timeline-summary", /^\S+.* to .*: 1 node found silent, 0 nodes ready again, 0 pods evicted\.$/);
      await point("mousemove", 0.8);
      await shows("timeline-summary", /: 0 nodes found silent, .* evicted\. Zone a FullDisruption\.$/);
      expect(await page.evaluate(`document.querySelector("#timeline-summary a").hash`)).toBe("#/zone/a");
      await point("mouseleave", 0.8);
      await shows("timeline-summary", /^Since /);
    });
  });

  test("shows times in the time zone of the browser, and names it", async () => {
    const { clock, receive } = await openDashboard({ at: "#/decisions" });
    await page.moveTo("Asia/Kolkata");
    await shows("time-zone", /^times in Asia\/(Kolkata|Calcutta)$/);
    await shows("link", /^live$/, clock);
    receive("judged.zone", judgedZone(), null);
    await shows("decisions", /^0?5:30:\d\d\D* zone a is Normal/, clock);
    receive("judged.pod", judgedPod({ deadlineAt: clock.wallMs() + 3_600_000 }), null);
    await shows("decisions", /^0?5:30:\d\d\D* pod default\/web may stay until 0?6:30:\d\d\b(?!Z)/, clock);
    receive("judged.pod", judgedPod({ uid: "next", deadlineAt: clock.wallMs() + 30 * 3_600_000 }), null);
    await shows("decisions", /^0?5:30:\d\d\D* pod default\/web may stay until \D*\d+\D+\d{4}\D+11:30:\d\d/, clock);
  });

  test("stands still while it is paused, and goes on", async () => {
    const { clock, receive } = await openDashboard();
    await shows("link", /^live$/, clock);
    receive("judged.zone", judgedZone({ notReady: 1 }), null);
    await shows("zones", /1 of 10/, clock);
    await page.evaluate(`document.getElementById("pause").click()`);
    await shows("link", /^paused$/);
    receive("judged.zone", judgedZone({ notReady: 2 }), null);
    for (let sent = 0; sent < 3; sent++) clock.advance(SNAPSHOT_MS);
    await shows("zones", /1 of 10/);
    await page.evaluate(`document.getElementById("pause").click()`);
    await shows("zones", /2 of 10/, clock);
  });

  test("writes times of 24 hours, and breaks no name", async () => {
    const { clock, receive } = await openDashboard({ at: "#/decisions" });
    await page.moveTo("America/New_York");
    await shows("link", /^live$/, clock);
    receive("judged.zone", judgedZone(), null);
    await shows("decisions", /^19:00:\d\d zone a is Normal/, clock);
    await visit("#/nodes");
    const name = `worker-${"a-long-name-".repeat(8)}7`;
    await page.show(390, "light");
    receive("observed.node", observedNode(name), null);
    receive("judged.node", judgedNode(name, { readiness: "unknown" }), null);
    await shows("node-list", /worker-a-long/, clock);
    const lines = `document.querySelector("#node-list a").getClientRects().length`;
    expect(await page.evaluate(lines)).toBe(1);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  });

  test("says so where Vigil works beside upstream", async () => {
    await openDashboard({ beside: true });
    await shows("badges", /^beside kube-controller-manager: no pod is evicted$/);
  });

  test("explains a node, and reports a pod that is not found", async () => {
    const { clock, receive } = await openDashboard();
    const ask = (subject: string) =>
      page.evaluate(`subject.value = ${JSON.stringify(subject)}; document.getElementById("explain").requestSubmit()`);
    await shows("link", /^live$/, clock);
    receive("observed.node", observedNode("<b>n-1"), null);
    receive("judged.node", judgedNode("<b>n-1", { readiness: "unknown" }), null);
    await ask("<b>n-1");
    await shows("explanation", /Node <b>n-1 has been unknown since[\s\S]*judged unknown: silent for/);
    const link = `document.querySelector("#explanation p a")`;
    expect(await page.evaluate(`[${link}.innerHTML, ${link}.hash]`)).toEqual(["&lt;b&gt;n-1", "#/node/%3Cb%3En-1"]);
    await ask("default/other");
    await shows("explanation", /pod default\/other: not found in the cluster or in the history/, clock);
  });

  test("says in words what is held back, and for how long", async () => {
    const { clock, receive } = await openDashboard();
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
      const world = await openDashboard({ at: "#/nodes" });
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

    test("folds healthy nodes until a reader asks for them", async () => {
      const world = await openDashboard({ at: "#/nodes" });
      populate(world, 7);
      await shows("node-count", /^7 nodes, none in trouble$/);
      expect(await page.evaluate(`document.getElementById("node-list").offsetHeight`)).toBe(0);
      await choose("node-search", "worker-3", "input");
      await shows("node-list", /^worker-3\s+ready/);
    });

    test("counts long ages in days", async () => {
      const { clock, receive } = await openDashboard({ at: "#/nodes?healthy=yes" });
      clock.advance(50 * 3_600_000);
      receive("observed.node", observedNode("n-1"), null);
      receive("judged.node", judgedNode("n-1", { since: clock.wallMs() - 50 * 3_600_000 }), null);
      await shows("node-list", /n-1\s+ready\s+2 d 2 h/, clock);
    });

    test("says what follows, and on a phone only what is there", async () => {
      const { receive } = await openDashboard({ at: "#/nodes" });
      await page.show(390, "light");
      receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
      receive("judged.node", judgedNode("n-1", { readiness: "unknown", eviction: "toBeEvicted" }), null);
      receive("observed.node", observedNode("n-2"), null);
      receive("judged.node", judgedNode("n-2"), null);
      await shows("node-list", /^n-1\n[^–]*\nto be evicted(?![\s\S]*n-2)/);
      await page.evaluate(`document.getElementById("node-healthy").click()`);
      await shows("node-list", /^n-1\n[\s\S]*\nto be evicted[\s\S]*\nn-2\n/);
      await shows("node-list", /^[^–]*$/);
    });

    test("links to explanations with addresses, by keyboard too", async () => {
      const world = await openDashboard({ at: "#/nodes" });
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
      const world = await openDashboard({ at: "#/nodes" });
      populate(world, 5000);
      await listed(/^worker-7,worker-8,/);
      await shows("node-count", /^5000 nodes, the first 50 shown$/);
      expect((await rows()).split(",")).toHaveLength(50);
      for (const text of ["w", "worker-49", "worker-4999"]) await choose("node-search", text, "input");
      await listed(/^worker-4999$/);
    });

    test("of 5,000 nodes is searched and drawn without a long task", async () => {
      const world = await openDashboard({ at: "#/nodes" });
      populate(world, 5000);
      await listed(/^worker-7,worker-8,/);
      const rounds = 10;
      const before = await page.busyMs();
      for (let round = 0; round < rounds; round++) {
        const name = `worker-${1000 + round}`;
        world.receive("judged.node", judgedNode(name, { readiness: "unknown" }), null);
        world.clock.advance(SNAPSHOT_MS);
        await choose("node-search", name, "input");
        await listed(new RegExp(`^${name}$`));
        await choose("node-search", "", "input");
        await listed(/,/);
      }
      // Each round lists twice. A browser calls a task long from 50 ms on.
      expect(((await page.busyMs()) - before) / (2 * rounds)).toBeLessThan(50);
    });
  });

  test("of a standby says who leads, and shows the cluster once it leads itself", async () => {
    let problem: string | null = "this process stands by, and decides nothing: ask m-1, which leads";
    const { clock } = await openDashboard({ standby: () => problem });
    await shows("link", /^this process stands by, and decides nothing: ask m-1, which leads$/);
    problem = null;
    await shows("link", /^live$/, clock);
  });

  test("reports that it is disconnected when the process has ended", async () => {
    const { clock } = await openDashboard();
    await shows("link", /^live$/, clock);
    await served.close();
    await shows("link", /disconnected, retrying/);
  });
});
