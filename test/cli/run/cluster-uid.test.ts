/** How a process reads the uid of its Kubernetes cluster, and starts without it where it cannot. */
import { describe, expect, test } from "vitest";
import type { ReadReply } from "../../../protocols/ports.ts";
import { clusterUid, watchClusterUid } from "../../../services/cli/run/cluster-uid.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import type { Fault } from "../../support/faulty-apiserver.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { VirtualWorld } from "../../support/virtual-world.ts";

/** Reads the uid and lets time pass; returns the result and the log. */
async function asked(world: VirtualWorld, passedMs: number) {
  const log = recordingLog();
  const found = clusterUid({ kube: world.kube, clock: world.clock, log });
  world.advance(passedMs);
  return { uid: await found, lines: log.lines.map(({ level, message, fields }) => [level, message, fields.detail]) };
}

test("it is the uid of namespace kube-system, and nothing is logged", async () => {
  const world = new VirtualWorld();
  const namespace = world.read({ kind: "Namespace", namespace: "", name: "kube-system" });
  expect(namespace?.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
  expect(await asked(world, 0)).toEqual({ uid: namespace?.metadata.uid, lines: [] });
});

test.each<[string, Fault, number, RegExp]>([
  ["may not read it", { kind: "status", code: 403, message: "no" }, 0, /^403: .*no/],
  ["is throttled", { kind: "status", code: 429, retryAfterSeconds: 60 }, 0, /^429/],
  ["loses the connection", { kind: "lostRequest" }, 0, /ECONNRESET/],
  ["gets no answer within two seconds", { kind: "stall" }, 2_000, /no answer within 2000 ms/],
])("a process that %s starts without the uid, and warns once with the fix", async (_what, fault, passedMs, detail) => {
  const world = new VirtualWorld();
  world.api.faults.add({ fault });
  const { uid, lines } = await asked(world, passedMs);
  const message =
    "cannot tell this Kubernetes cluster from another on the same NATS: give the account get on namespace kube-system";
  expect(uid).toBeNull();
  expect(lines).toEqual([["warn", message, expect.stringMatching(detail)]]);
});

describe("a process that runs", () => {
  const uid = (text: string): ReadReply => ({
    outcome: "ok",
    object: { metadata: { name: "kube-system", uid: text } },
  });
  const DENIED: ReadReply = { outcome: "denied", detail: "403" };
  const FAILED: ReadReply = { outcome: "failed", detail: "ECONNREFUSED" };

  /** Watches an API server that gives these answers and repeats the last one. */
  function watching(known: string | null, answers: readonly ReadReply[], minutes = 5) {
    const clock = new VirtualClock();
    const problems: string[] = [];
    let reads = 0;
    const kube = {
      read(_ref: unknown, done: (reply: ReadReply) => void) {
        const answer = answers[Math.min(reads++, answers.length - 1)] ?? FAILED;
        clock.soon(() => done(answer));
      },
    };
    const stop = watchClusterUid({ kube, clock }, known, (problem) => problems.push(problem));
    clock.advance(minutes * 60_000);
    return { clock, stop, problems, reads: () => reads };
  }

  test("goes on in the same cluster, and reads the uid every 10 s", () => {
    const { problems, reads } = watching("a", [uid("a")]);
    expect(problems).toEqual([]);
    expect(reads()).toBe(30);
  });

  test("gets one line, once, when the API serves another cluster", () => {
    const { problems, reads } = watching("a", [uid("a"), uid("b")]);
    expect(problems).toEqual([
      "the API server serves another Kubernetes cluster than before (its kube-system has uid b, before it was a): " +
        "restart this process to run there",
    ]);
    expect(reads()).toBe(2);
  });

  test.each<[string, readonly ReadReply[]]>([
    ["fails", [FAILED]],
    ["is refused", [DENIED]],
    ["is throttled", [{ outcome: "throttled", detail: "429", retryAfterMs: 1000 }]],
    ["finds no namespace", [{ outcome: "gone", detail: "404" }]],
    ["shows no uid", [{ outcome: "ok", object: { metadata: { name: "kube-system" } } }]],
  ])("goes on when the read %s, and looks again", (_what, answers) => {
    const { problems, reads } = watching("a", answers);
    expect(problems).toEqual([]);
    expect(reads()).toBe(30);
  });

  test("detects it after a time without answers too", () => {
    expect(watching("a", [FAILED, FAILED, DENIED, uid("b")]).problems).toHaveLength(1);
  });

  test("without a known cluster takes the first uid that it reads", () => {
    expect(watching(null, [uid("a")], 0).reads()).toBe(1);
    expect(watching(null, [FAILED, uid("a"), uid("a")]).problems).toEqual([]);
    expect(watching(null, [FAILED, uid("a"), uid("b")]).problems).toHaveLength(1);
  });

  test("without the right to read the uid stops reading it", () => {
    expect(watching(null, [DENIED]).reads()).toBe(1);
  });

  test("that is stopped reads it no more", () => {
    const { clock, stop, reads } = watching("a", [uid("a")], 1);
    stop();
    clock.advance(60_000);
    expect(reads()).toBe(6);
  });
});
