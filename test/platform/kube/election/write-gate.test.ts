/** The gate before the wire of a process that may write only while it leads. */
import { beforeEach, describe, expect, test } from "vitest";
import { type Clock, type HttpRequest, type ObjectRef, Urgency } from "../../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../../protocols/profile.ts";
import { WriteGate } from "../../../../services/platform/kube/election/write-gate.ts";
import { createKube } from "../../../../services/platform/kube/kube.ts";
import { silentLog } from "../../../../services/platform/process/log.ts";
import { createMetrics } from "../../../../services/platform/process/metrics.ts";
import { ApiServer } from "../../../../services/sandbox/apiserver/apiserver.ts";
import { VirtualClock } from "../../../support/clock.virtual.ts";
import { Standstill } from "../../../support/standstill.ts";

const REVIEWS = ["/apis/authentication.k8s.io/v1/tokenreviews", "/apis/authorization.k8s.io/v1/subjectaccessreviews"];

let clock: VirtualClock;
/** How far the wall clock has been moved, as after a suspension. */
let wallStepMs: number;
let gate: WriteGate;
let sent: string[];
let failures: string[];

beforeEach(() => {
  clock = new VirtualClock();
  wallStepMs = 0;
  const stepped: Pick<Clock, "monotonicMs" | "wallMs" | "soon"> = {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs() + wallStepMs,
    soon: (run) => clock.soon(run),
  };
  gate = new WriteGate(stepped);
  sent = [];
  failures = [];
});

function send(method: string, path = "/api/v1/nodes/n1"): { abort(): void } {
  const request: HttpRequest = { method, path, headers: {}, body: null };
  const wire = {
    send: ({ method: used }: HttpRequest) => {
      sent.push(used);
      return { abort: () => {} };
    },
  };
  return gate.over(wire).send(request, {
    response: () => {},
    data: () => {},
    end: () => {},
    failed: ({ message, sent: wasSent }) => failures.push(`${message} ${wasSent}`),
  });
}

describe("a write", () => {
  test("fails unsent before the first renewal, and never within the call", () => {
    send("PATCH");
    expect(failures).toEqual([]);
    clock.advance(0);
    expect(failures).toEqual(["not sent: this process does not lead now false"]);
    expect(sent).toEqual([]);
  });

  test.each([
    ["is sent until the deadline", 9_999, 0, ["PATCH"]],
    ["is not sent from the deadline on", 10_000, 0, []],
    ["is not sent when the wall clock shows a suspension", 1_000, 9_000, []],
    ["is sent when the wall clock was set back", 9_999, -3_600_000, ["PATCH"]],
  ])("%s", (_what, laterMs, stepMs, passed) => {
    gate.open(gate.now(), 10_000);
    clock.advance(laterMs);
    wallStepMs = stepMs;
    send("PATCH");
    expect(sent).toEqual(passed);
  });

  test("counts from when the renewal was requested, not from its answer", () => {
    const requested = gate.now();
    clock.advance(9_000);
    gate.open(requested, 10_000);
    clock.advance(1_000);
    expect(gate.isOpen).toBe(false);
  });

  test("is not sent after the gate was closed", () => {
    gate.open(gate.now(), 10_000);
    gate.close();
    send("DELETE");
    expect(sent).toEqual([]);
  });

  test("that was aborted reports nothing", () => {
    send("PATCH").abort();
    clock.advance(0);
    expect(failures).toEqual([]);
  });
});

test("a write that waited while its process was stopped is not sent when it wakes", () => {
  const standstill = new Standstill(clock);
  const api = new ApiServer({ clock, random: () => 0 });
  const held = new WriteGate(standstill.clock);
  const replies: string[] = [];
  const kube = createKube({
    clock: standstill.clock,
    random: () => 0,
    log: silentLog,
    metrics: createMetrics(),
    wire: standstill.wire(held.over(api.wire)),
    profile: { ...STANDARD_PROFILE, kubeApiQps: 1, kubeApiBurst: 1 },
  });
  held.open(held.now(), 10_000);
  for (const name of ["n1", "n2"]) {
    const ref: ObjectRef = { kind: "Node", namespace: "", name };
    const body = { apiVersion: "v1", kind: "Node", metadata: { name } };
    kube.write({ verb: "create", ref, urgency: Urgency.healing, body }, ({ outcome }) => replies.push(outcome));
  }
  clock.advance(0);
  expect(replies).toEqual(["ok"]);
  standstill.begin();
  clock.advance(60_000);
  standstill.end();
  clock.advance(60_000);
  expect(replies).toEqual(["ok", "failed"]);
});

test("a standby may read, and review the clients of its console", () => {
  send("GET");
  for (const path of REVIEWS) send("POST", path);
  expect(sent).toEqual(["GET", "POST", "POST"]);
});
