/** The path between a simulated process and the API server has exactly the faults that it names. */
import { describe, expect, test } from "vitest";
import type { HttpExchange, Wire } from "../../protocols/ports.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { API_CUTS, type ApiCut, ApiPath } from "./api-path.ts";

const READ = "/api/v1/nodes/n";
const WATCH = "/api/v1/nodes?watch=true";

/** A path to a server that answers reads at once and sends each watch its given events. */
function pathToServer() {
  const clock = new VirtualClock();
  const carriedOut: string[] = [];
  const watches: HttpExchange[] = [];
  const server: Wire = {
    send({ path }, exchange) {
      carriedOut.push(path);
      exchange.response(200, {});
      if (path === WATCH) watches.push(exchange);
      else {
        exchange.data(Buffer.from("object"));
        exchange.end();
      }
      return { abort: () => {} };
    },
  };
  const path = new ApiPath({ clock, random: () => 1, count: () => {} });
  const wire = path.over(server);
  const send = (target: string): string[] => {
    const heard: string[] = [];
    wire.send(
      { method: "GET", path: target, headers: {}, body: null },
      {
        response: (status) => heard.push(String(status)),
        data: (chunk) => heard.push(Buffer.from(chunk).toString()),
        end: () => heard.push("end"),
        failed: ({ message, sent }) => heard.push(`${message}${sent ? "" : ", not sent"}`),
      },
    );
    return heard;
  };
  const publish = (line: string): void => {
    for (const watch of watches) watch.data(Buffer.from(line));
  };
  return { clock, path, carriedOut, send, publish };
}

describe("a cut path", () => {
  const CARRIED_OUT: Readonly<Record<ApiCut, boolean>> = {
    requests: false,
    replies: true,
    silent: false,
    refused: false,
  };
  const WATCHED: Readonly<Record<ApiCut, readonly string[]>> = {
    requests: ["200", "line"],
    replies: ["200"],
    silent: ["200"],
    refused: ["200", "read ECONNRESET"],
  };

  test.each(API_CUTS)("(%s) stops what its name says", (cut) => {
    const { clock, path, carriedOut, send, publish } = pathToServer();
    const watched = send(WATCH);
    path.sever(cut);
    const read = send(READ);
    publish("line");
    clock.advance(60_000);
    expect(carriedOut.includes(READ)).toBe(CARRIED_OUT[cut]);
    expect(watched).toEqual(WATCHED[cut]);
    expect(read).toEqual(cut === "refused" ? ["connect ECONNREFUSED, not sent"] : []);
  });

  test.each(["replies", "silent"] as const)("(%s) delivers what it held, in order, once it is repaired", (cut) => {
    const { path, send, publish } = pathToServer();
    const watched = send(WATCH);
    const repair = path.sever(cut);
    const read = send(READ);
    publish("first");
    publish("second");
    repair("goOn");
    expect(watched).toEqual(["200", "first", "second"]);
    expect(read).toEqual(["200", "object", "end"]);
  });

  test("resets its connections when it is repaired by a break", () => {
    const { path, send, publish } = pathToServer();
    const watched = send(WATCH);
    const repair = path.sever("silent");
    publish("lost");
    repair("break");
    expect(watched).toEqual(["200", "read ECONNRESET"]);
  });
});

test("a slow request is carried out after half of its latency and answered after all", () => {
  const { clock, path, carriedOut, send } = pathToServer();
  path.slow({ get: 4_000 });
  const read = send(READ);
  clock.advance(1_999);
  expect(carriedOut).toEqual([]);
  clock.advance(2_000);
  expect(carriedOut).toEqual([READ]);
  expect(read).toEqual([]);
  clock.advance(1);
  expect(read).toEqual(["200", "object", "end"]);
});

test("a sent request is carried out though its process is dead, and no reply arrives", () => {
  const { clock, path, carriedOut, send } = pathToServer();
  path.slow({ get: 4_000 });
  path.shareBefore = 1;
  const read = send(READ);
  clock.advance(1_000);
  path.closeConnections();
  clock.advance(1_999);
  expect(carriedOut).toEqual([]);
  clock.advance(1_001);
  expect(carriedOut).toEqual([READ]);
  expect(read).toEqual([]);
});

test("a request that a cut holds is lost with its process", () => {
  const { path, carriedOut, send } = pathToServer();
  const repair = path.sever("requests");
  send(READ);
  path.closeConnections();
  repair("goOn");
  expect(carriedOut).toEqual([]);
});

test("a watch that lags keeps its order and catches up", () => {
  const { clock, path, send, publish } = pathToServer();
  const watched = send(WATCH);
  path.watchLagMs = 3_000;
  publish("first");
  clock.advance(1_000);
  path.watchLagMs = 0;
  publish("second");
  expect(watched).toEqual(["200"]);
  clock.advance(2_000);
  expect(watched).toEqual(["200", "first", "second"]);
});

test("a stale replica answers with the rewritten request; its watches catch up later", () => {
  const { path, carriedOut, send, publish } = pathToServer();
  const watched = send(WATCH);
  const catchUp = path.leadTo((request) => (request.path === READ ? { ...request, path: `${READ}?old` } : null));
  send(READ);
  publish("line");
  expect(carriedOut).toEqual([WATCH, `${READ}?old`]);
  expect(watched).toEqual(["200"]);
  catchUp();
  expect(watched).toEqual(["200", "line"]);
});
