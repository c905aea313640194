/** The views of the dashboard in a real browser: each has an address, and is reached and left by keyboard. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { afterEach, expect, test } from "vitest";
import { SNAPSHOT_MS } from "../../services/console/console.events.ts";
import { judgedNode, judgedPod, judgedZone, type LedgerWorld, seePulses } from "../ledger/ledger-world.ts";
import { describeWithChromium } from "../support/chromium.ts";
import { observedNode } from "../support/observed-objects.ts";
import { until } from "../support/until.ts";
import { closeDashboard, openDashboard, page, shows, visit } from "./open-dashboard.ts";

/** axe-core, which checks a page for what keeps people from using it. */
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const VIEWS = {
  "#/": "What is wrong,Zones,Timeline",
  "#/zones": "Zones,Timeline",
  "#/nodes": "Nodes by trouble",
  "#/evictions": "Pending evictions",
  "#/decisions": "Latest decisions",
  "#/policies": "Node policies",
  "#/fleet": "Fleet,Watch health",
  "#/node/n-1": "node n-1",
} as const;
const TITLES = `[...document.querySelectorAll("main h2")].filter((title) => title.checkVisibility())
  .map((title) => title.firstChild.textContent.trim()).join()`;
/** The highest start on a phone, in pixels: about two and a half screens. */
const PHONE_HEIGHT_MAX = 2_250;

afterEach(closeDashboard);

/** Zones of which a third are disrupted, each with so many nodes, and the pods of the first node. */
function troubled({ clock, receive }: LedgerWorld, zones: number, nodes: number): void {
  const lately = { since: clock.wallMs(), heartbeatAt: clock.wallMs() - 50_000 };
  for (let index = 0; index < zones; index++) {
    const isDisrupted = index % 3 === 1;
    const zone = `eu-west-1:\u0000:eu-west-1-${index}`;
    const state = { state: isDisrupted ? "PartialDisruption" : "Normal", notReady: isDisrupted ? nodes : 0 } as const;
    receive("judged.zone", judgedZone({ zone, size: nodes, ...state }), null);
    for (let node = 0; node < nodes; node++) {
      const name = `ip-10-0-${index}-${node}.eu-west-1.compute.internal`;
      receive("observed.node", observedNode(name), null);
      const readiness = isDisrupted ? "unknown" : "ready";
      receive("judged.node", judgedNode(name, { zone, readiness, ...lately }), null);
    }
  }
  receive("judged.pod", judgedPod({ deadlineAt: clock.wallMs() + 3_600_000 }), null);
}

/** Waits until the page has been loaded again. */
async function reload({ clock }: LedgerWorld): Promise<void> {
  await page.evaluate("window.isOld = true; location.reload()");
  const isNew = () => {
    // Readers have a share of the processor, by this clock.
    clock.advance(SNAPSHOT_MS);
    return page.evaluate<boolean>("window.isOld !== true && document.body?.dataset.view !== undefined");
  };
  await until("the page is loaded again", () => isNew().catch(() => false), { everyMs: 50 });
}

const atTitles = (titles: string) =>
  until(`the titles are ${titles}`, async () => (await page.evaluate(TITLES)) === titles, { everyMs: 50 });

describeWithChromium("the views of the dashboard", () => {
  test("have addresses, which links, a reload, and the way back and forward keep", async () => {
    const world = await openDashboard();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("judged.node", judgedNode("n-1"), null);
    for (const [address, titles] of Object.entries(VIEWS)) {
      await visit(address);
      await atTitles(titles);
      await reload(world);
      await atTitles(titles);
      expect(await page.evaluate("location.hash")).toBe(address);
    }
    await page.evaluate("history.go(-2)");
    await atTitles(VIEWS["#/policies"]);
    expect(await page.evaluate("document.title")).toBe("policies – Vigil: test");
    await page.evaluate("history.go(1)");
    await atTitles(VIEWS["#/fleet"]);
    const current = `[...document.querySelectorAll("nav [aria-current=page]")].map(({ hash }) => hash).join()`;
    expect(await page.evaluate(current)).toBe("#/fleet");
    expect(page.problems).toEqual([]);
  });

  test.each(["#/nothing", "#/node/a/b", "#/nodes/a", "#nodes", "#/constructor/a", "#/__proto__"])(
    "begin at the start for %s",
    async (address) => {
      await openDashboard({ at: address });
      await atTitles(VIEWS["#/"]);
      expect(page.problems).toEqual([]);
    },
  );

  test("explain a name that is badly encoded", async () => {
    await openDashboard({ at: "#/node/50%" });
    await shows("explanation", /^node 50%: not found/);
  });

  test.each([
    ["#/nodes", "node-list"],
    ["#/zones", "zones"],
  ])("%s stays at what Enter explains, and Back returns to its row", async (address, list) => {
    const world = await openDashboard({ at: address });
    await page.show(390, "light");
    troubled(world, 12, 5);
    await shows(list, /eu-west-1-4/, world.clock);
    const link = `document.querySelector("#${list} tr:nth-child(4) a")`;
    await page.evaluate(`${link}.focus(); window.before = ${link}; window.place = ${link}.hash`);
    const left = await page.evaluate<number>("scrollY");
    await page.press("Enter");
    await shows("explanation", /eu-west-1-\d+/);
    const isReplaced = async () => {
      world.clock.advance(SNAPSHOT_MS);
      return page.evaluate<boolean>(`document.activeElement.id === "explanation-title" && scrollY === 0`);
    };
    await until("the heading has the keyboard", isReplaced, { everyMs: 50 });
    await page.evaluate("history.back()");
    await atTitles(VIEWS[address as "#/nodes"]);
    const isBack = () => page.evaluate<boolean>(`document.activeElement.hash === window.place && scrollY === ${left}`);
    await until("the row has the keyboard", isBack, { everyMs: 50 });
    // It keeps it while the rows are replaced.
    const isNew = async () => {
      world.clock.advance(SNAPSHOT_MS);
      return page.evaluate<boolean>(`${link} !== window.before`);
    };
    await until("the rows are replaced", isNew, { everyMs: 50 });
    expect(await isBack()).toBe(true);
  });

  test("have their filters in the address, by keyboard and from a link", async () => {
    const world = await openDashboard({ at: "#/nodes?zone=eu-west-1%2Feu-west-1-1&readiness=unknown" });
    troubled(world, 3, 2);
    await shows("node-count", /^2 nodes$/, world.clock);
    await until("the zone is chosen", () => page.evaluate(`document.getElementById("node-zone").value !== ""`));
    await page.evaluate(`document.getElementById("node-search").focus()`);
    await page.press("1");
    const expected = "#/nodes?search=1&readiness=unknown&zone=eu-west-1%2Feu-west-1-1";
    await until("the address has it", async () => (await page.evaluate("location.hash")) === expected);
    await reload(world);
    await shows("node-count", /^2 nodes$/, world.clock);
    expect(await page.evaluate(`document.getElementById("node-search").value`)).toBe("1");
    await visit("#/nodes");
    await shows("node-count", /^6 nodes$/, world.clock);
    expect(await page.evaluate(`document.getElementById("node-readiness").value`)).toBe("");
  });

  test("begin with what is wrong, in words", async () => {
    const world = await openDashboard();
    await page.show(1440, "light");
    const isCalm = async () => {
      seePulses(world);
      world.clock.advance(SNAPSHOT_MS);
      return (await page.evaluate<string>(`document.getElementById("wrong").innerText`)).includes(
        "Nothing is wrong with 0 nodes.",
      );
    };
    await until("nothing is wrong", isCalm, { everyMs: 50 });
    troubled(world, 3, 8);
    await shows(
      "held-back",
      /Zone eu-west-1\/eu-west-1-1 PartialDisruption since .*, 8 of 8 nodes not ready: /,
      world.clock,
    );
    await shows("wrong-nodes", /^8 nodes unknown$/);
    await shows("troubled", /^(ip-10-0-1-\d\S+ unknown for .*, last heartbeat [^,]* ago\s*){5}$/);
    await shows("wrong-pods", /^1 pending eviction, the next in \d+ min/);
    await shows("wrong-none", /^$/);
    await page.evaluate(`document.querySelector("#wrong-nodes a").click()`);
    await shows("node-count", /^8 nodes$/);
    expect(await page.evaluate("location.hash")).toBe("#/nodes?readiness=unknown");
  });

  test("begin short on a phone, however large the cluster is", async () => {
    const world = await openDashboard();
    await page.show(390, "light");
    troubled(world, 60, 40);
    await shows("zones", /eu-west-1-1/, world.clock);
    await shows("troubled", /ip-10/);
    await until("the timeline is drawn", () => page.evaluate(`document.querySelectorAll("canvas").length > 60`));
    expect(await page.evaluate("document.documentElement.scrollHeight")).toBeLessThan(PHONE_HEIGHT_MAX);
    const zones = `[...document.querySelectorAll("#zones tr")].filter((row) => row.checkVisibility()).length`;
    expect(await page.evaluate(zones)).toBe(4);
    await page.evaluate(`document.querySelector("#held-back .rest a").click()`);
    await atTitles(VIEWS["#/zones"]);
    expect(await page.evaluate(zones)).toBe(60);
    expect(await page.evaluate(`document.querySelectorAll("#held-back p").length`)).toBeGreaterThan(20);
  });

  test("have a link to Grafana where one is configured", async () => {
    await openDashboard({ grafanaUrl: "https://grafana.example.com/d/vigil" });
    await shows("grafana", /^Grafana$/);
    expect(await page.evaluate(`document.querySelector("#grafana a").href`)).toBe(
      "https://grafana.example.com/d/vigil",
    );
  });

  test("have no link to Grafana without one", async () => {
    await openDashboard();
    await shows("about", /cluster test/);
    expect(await page.evaluate(`document.getElementById("grafana").innerHTML`)).toBe("");
  });

  test.each(["#/", "#/nodes"] as const)("need no mouse: Tab reaches every control of %s in its order", async (at) => {
    const world = await openDashboard({ at });
    troubled(world, 2, 2);
    await shows("evictions-alarm", /^1$/, world.clock);
    await shows(at === "#/" ? "troubled" : "node-list", /ip-10/);
    const controls = `[...document.querySelectorAll("a[href], button, input, select, summary")].filter((each) => each.checkVisibility())`;
    const count = await page.evaluate<number>(`${controls}.length`);
    const reached: unknown[] = [];
    for (let presses = 0; presses < count; presses++) {
      await page.press("Tab");
      const focused = `{ index: ${controls}.indexOf(document.activeElement), outline: getComputedStyle(document.activeElement).outlineStyle }`;
      reached.push(await page.evaluate(`(${focused})`));
    }
    const outline = expect.not.stringMatching("none");
    expect(count).toBeGreaterThan(12);
    expect(reached).toEqual(Array.from({ length: count }, (_, index) => ({ index, outline })));
  });

  test.each([
    [390, "light"],
    [390, "dark"],
    [768, "light"],
    [768, "dark"],
    [1440, "light"],
    [1440, "dark"],
  ] as const)("are readable at %d px in %s", async (width, scheme) => {
    const world = await openDashboard();
    await page.show(width, scheme);
    troubled(world, 6, 4);
    await shows("evictions-alarm", /^1$/, world.clock);
    await page.evaluate(AXE);
    for (const [address, titles] of Object.entries(VIEWS)) {
      await visit(address);
      await atTitles(titles);
      if (address === "#/nodes") await shows("node-list", /ip-10/);
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address).toBe(true);
      const isCut = `[...document.querySelectorAll(".wide")].some((each) => each.scrollWidth > each.clientWidth)`;
      expect(await page.evaluate(isCut), address).toBe(false);
      const violations = await page.evaluate(
        `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))`,
      );
      expect(violations, address).toEqual([]);
    }
  });
});
