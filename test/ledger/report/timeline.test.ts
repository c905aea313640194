/** The last hours at a glance: what counts, when, and for how long it is kept. */
import { expect, test } from "vitest";
import type { Message } from "../../../protocols/messages.ts";
import { TIMELINE_MS, Timeline } from "../../../services/ledger/report/timeline.ts";
import { ClusterState } from "../../../services/ledger/state/cluster-state.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { observedNode } from "../../support/observed-objects.ts";
import { askedEviction, doneNode, donePod, judgedNode, judgedZone, ledgerWorld } from "../ledger-world.ts";

const MINUTE_MS = 60_000;

function world() {
  const started = ledgerWorld();
  const { clock, receive, ledger } = started;
  const startedAt = clock.wallMs();
  receive("observed.node", observedNode("n-1"), null);
  const judge = (readiness: "ready" | "notReady" | "unknown", since = clock.wallMs()) =>
    receive("judged.node", judgedNode("n-1", { readiness, since }), null);
  return { ...started, startedAt, judge, timeline: () => ledger.reader.timeline() };
}

test("a verdict and a recovery count once each, in their minutes", () => {
  const { clock, judge, timeline, startedAt } = world();
  judge("ready");
  judge("unknown");
  judge("unknown");
  clock.advance(2 * MINUTE_MS);
  judge("ready");
  const begunAt = startedAt - (startedAt % MINUTE_MS);
  expect(timeline().minutes).toEqual([
    { at: begunAt, verdicts: 1, recoveries: 0, evictions: 0 },
    { at: begunAt + 2 * MINUTE_MS, verdicts: 0, recoveries: 1, evictions: 0 },
  ]);
});

test("a node that was silent before the start is no new verdict", () => {
  const { judge, timeline, startedAt } = world();
  judge("unknown", startedAt - 1);
  expect(timeline().minutes).toEqual([]);
});

test("an eviction counts once, however often its deletion is accepted", () => {
  const { receive, timeline } = world();
  for (let times = 0; times < 2; times++)
    receive("done.write", donePod("asked.eviction"), receive("asked.eviction", askedEviction(), null));
  expect(timeline().minutes).toMatchObject([{ evictions: 1 }]);
});

test("in shadow mode a verdict has its lead over other controllers", () => {
  const { clock, receive, ledger } = ledgerWorld({ isShadow: true });
  receive("observed.node", observedNode("n-1"), null);
  clock.advance(MINUTE_MS);
  const at = clock.wallMs();
  receive("done.write", doneNode("asked.condition", "n-1", { outcome: "shadowed" }), null);
  expect(ledger.reader.timeline().leads).toEqual([]);
  clock.advance(40_700);
  const { conditions, ...later } = observedNode("n-1", { ready: "Unknown" });
  const unknown = conditions.map((condition) => ({ ...condition, transitionAt: at + 40_000 }));
  receive("observed.node", { ...later, conditions: unknown }, null);
  expect(ledger.reader.timeline().leads).toEqual([{ at, leadMs: 40_700 }]);
});

test("a zone has its states since the beginning of the picture", () => {
  const { clock, receive, timeline, startedAt } = world();
  receive("judged.zone", judgedZone(), null);
  receive("judged.zone", judgedZone(), null);
  clock.advance(MINUTE_MS);
  receive("judged.zone", judgedZone({ state: "FullDisruption" }), null);
  const states = [
    { at: startedAt, state: "Normal" },
    { at: startedAt + MINUTE_MS, state: "FullDisruption" },
  ];
  expect(timeline()).toMatchObject({ fromAt: startedAt, zones: [{ title: "a", states, takeovers: [] }] });
});

test("what is older than six hours is gone, but not the state of a zone", () => {
  const { clock, judge, receive, timeline, startedAt } = world();
  judge("unknown");
  receive("judged.zone", judgedZone({ state: "FullDisruption" }), null);
  const fullAt = startedAt;
  clock.advance(TIMELINE_MS);
  receive("judged.zone", judgedZone(), null);
  clock.advance(2 * MINUTE_MS);
  judge("ready");
  receive("judged.zone", judgedZone(), null);
  const { fromAt, minutes, zones } = timeline();
  expect(fromAt).toBe(clock.wallMs() - TIMELINE_MS);
  expect(minutes.map(({ recoveries, verdicts }) => [recoveries, verdicts])).toEqual([[1, 0]]);
  expect(zones[0]?.states).toEqual([
    { at: fullAt, state: "FullDisruption" },
    { at: fullAt + TIMELINE_MS, state: "Normal" },
  ]);
});

test("a zone shows when another process took it over", () => {
  const timeline = new Timeline(0);
  const from = (source: string): Message<"judged.zone"> =>
    ({ type: "judged.zone", source, body: judgedZone() }) as Message<"judged.zone">;
  for (const [index, source] of ["zone@a", "zone@a", "zone@b", "zone@b"].entries())
    timeline.onMessage(from(source), new ClusterState(), 1000 * index);
  expect(timeline.report(10_000).zones).toMatchObject([{ takeovers: [2000] }]);
});

test("a clock that is set back after the start loses nothing that happens then", () => {
  const timeline = new Timeline(24 * 60 * MINUTE_MS);
  const nowAt = 12 * 60 * MINUTE_MS;
  const state = new ClusterState();
  const silent = judgedNode("n-1", { readiness: "unknown", since: nowAt });
  timeline.onMessage({ type: "judged.node", body: silent } as Message<"judged.node">, state, nowAt);
  const report = timeline.report(nowAt + 1);
  expect(report.fromAt).toBeLessThanOrEqual(nowAt);
  expect(report.minutes).toEqual([{ at: nowAt, verdicts: 1, recoveries: 0, evictions: 0 }]);
  expect(timeline.report(nowAt - 1)).toMatchObject({ at: nowAt - 1, minutes: [] });
});

test("nothing is shown after the present, where a writer's clock is ahead", () => {
  const { io, transport, clock, receive, ledger } = ledgerWorld({ isShadow: true });
  receive("observed.node", observedNode("n-1"), null);
  const ahead = new VirtualClock();
  ahead.advance(5 * MINUTE_MS);
  const common = { ...io, transport, cluster: "test", service: "node-writer", member: "m-1", mailboxMessagesMax: 100 };
  const bus = typedBus({ ...common, clock: ahead });
  bus.publish("done.write", doneNode("asked.condition", "n-1", { outcome: "shadowed" }), null);
  clock.advance(0);
  receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
  const { at, leads } = ledger.reader.timeline();
  expect(leads.map((lead) => lead.at)).toEqual([at]);
});
