/** `vigil watch` on the event stream of a console, for a process without NATS. */
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { WATCH_PERIOD_MS } from "../../../services/cli/get/watch-rows.ts";
import { watchVerb } from "../../../services/cli/verbs/watch.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { until } from "../../support/until.ts";
import { consoleThat } from "../console-that.ts";
import { fakeHost } from "../fake-host.ts";

const HEADERS = { "content-type": "text/event-stream" };
const eventText = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const about = (kind: string, name: string, type: string, node?: string): string => {
  const namespace = kind === "Pod" ? "shop" : "";
  const head = { id: `id-${name}`, cause: null, at: 0, type, times: 1 };
  return eventText("decision", { ...head, object: { kind, namespace, name }, text: "changes", node });
};
const EVENTS =
  eventText("snapshot", { zones: [] }) +
  about("Node", "n-1", "judged.node", "n-1") +
  about("Pod", "cart-0", "judged.pod", "n-1") +
  about("Node", "n-2", "judged.node", "n-2") +
  about("Zone", "eu", "judged.zone");

/** A watched console: its open streams, and the verb's output. */
async function watched(...flags: string[]) {
  const [clock, host, streams, paths] = [new VirtualClock(), fakeHost(), [] as ServerResponse[], [] as string[]];
  const server = await consoleThat(({ url = "" }, response) => {
    paths.push(url);
    response.writeHead(200, HEADERS).write(EVENTS);
    streams.push(response);
  });
  const ended = watchVerb(clock).start([...flags, server], host);
  await until("the console is followed", () => host.err().includes("following the console at http://"));
  return { clock, host, ended, streams, paths };
}

test.each([
  [[], "node n-1 changes\npod shop/cart-0 changes\nnode n-2 changes\nzone eu changes\n"],
  [["nodes", "zones"], "node n-1 changes\nnode n-2 changes\nzone eu changes\n"],
  [["--node=n-1"], "node n-1 changes\npod shop/cart-0 changes\n"],
  [["pods", "--node=n-2"], ""],
])("watch %j of a console prints %j", async (flags, out) => {
  const { host, ended, paths } = await watched(...flags);
  await until("the last event is printed", () => host.out().split("\n").length === out.split("\n").length);
  host.stop();
  expect(await ended).toBe(0);
  expect(host.out().replaceAll("1970-01-01T00:00:00Z  ", "")).toBe(out);
  expect(paths).toEqual(["/api/stream?from=now"]);
});

test("watch -o json of a console prints the ids of messages", async () => {
  const { host, ended } = await watched("-o", "json", "zones");
  await until("the event is printed", () => host.out() !== "");
  host.stop();
  await ended;
  expect(JSON.parse(host.out())).toMatchObject({ object: "zone eu", type: "judged.zone", id: "id-eu", cause: null });
});

test("watch follows a console that was lost again, and says what is missing", async () => {
  const { clock, host, ended, streams } = await watched("zones");
  streams[0]?.destroy();
  await until("the loss is reported", () => host.err().includes("; retrying\n"));
  clock.advance(WATCH_PERIOD_MS);
  await until("it is followed again", () => host.err().includes("what happened meanwhile is not shown"));
  await until("its events are printed", () => host.out().split("\n").length === 3);
  host.stop();
  expect(await ended).toBe(0);
  const lost = /^vigil: following .*\nvigil: .*\/api\/stream\S*: the stream was cut off: .*; retrying\n/;
  expect(host.err()).toMatch(lost);
  expect(host.err()).toMatch(/retrying\nvigil: connected again; what happened meanwhile is not shown\n$/);
});

test("watch takes a console that sends nothing for 10 s for a lost one", async () => {
  const { clock, host, ended } = await watched("zones");
  clock.advance(10_000);
  await until("the loss is reported", () => host.err().includes("; retrying\n"));
  host.stop();
  expect(await ended).toBe(0);
});

test.each([
  [404, "application/json", JSON.stringify({ error: "/api/stream: this process runs no ledger" }), "/api/stream: this"],
  [200, "text/html", "<html>", "answers 200: not a Vigil console; check --server"],
  [200, "text/event-stream", eventText("full", {}), "too many clients follow this console"],
])("watch fails where there is no stream: %i %s", async (status, type, body, problem) => {
  const server = await consoleThat((_, response) => response.writeHead(status, { "content-type": type }).end(body));
  await expect(watchVerb(new VirtualClock()).start([server], fakeHost())).rejects.toThrow(problem);
});
