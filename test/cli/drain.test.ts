/** Shows that a process knows when no request to the API is in flight any more. */
import { expect, test } from "vitest";
import type { Kube, ReadReply, WriteReply } from "../../protocols/ports.ts";
import { Urgency } from "../../protocols/ports.ts";
import { drainable } from "../../services/platform/process/drain.ts";

const REF = { kind: "Node", namespace: "", name: "n1" } as const;
const WRITE = { ref: REF, urgency: Urgency.taint, verb: "patch", patch: "merge", body: {} } as const;

/** A Kubernetes port whose replies the test gives. */
function heldKube() {
  const replies: (() => void)[] = [];
  const gone: ReadReply & WriteReply = { outcome: "gone", detail: "" };
  const kube: Kube = {
    watch: () => ({
      state: () => ({ synced: false, since: null }),
      held: () => null,
      confirmedAt: () => null,
      version: () => null,
      relist() {},
      refresh() {},
      stop() {},
    }),
    read: (_ref, done) => replies.push(() => done(gone)),
    readShown: (_what, _ref, done) => replies.push(() => done(gone)),
    write: (_request, done) => replies.push(() => done(gone)),
    minorVersion: (done) => replies.push(() => done(null)),
    leaseHistory: (_from, done) => replies.push(() => done(null)),
    componentLeases: (done) => replies.push(() => done(null)),
  };
  return { kube, replyNext: () => replies.shift()?.() };
}

test("without requests in flight it is idle at once", () => {
  let idle = 0;
  drainable(heldKube().kube).whenIdle(() => idle++);
  expect(idle).toBe(1);
});

test("it is idle once every read and write has its reply, and not before", () => {
  const { kube, replyNext } = heldKube();
  const counted = drainable(kube);
  const told: string[] = [];
  counted.kube.write(WRITE, ({ outcome }) => told.push(`write ${outcome}`));
  counted.kube.read(REF, ({ outcome }) => told.push(`read ${outcome}`));
  counted.whenIdle(() => told.push("idle"));
  replyNext();
  expect(told).toEqual(["write gone"]);
  replyNext();
  expect(told).toEqual(["write gone", "read gone", "idle"]);
});

test("a write that a reply leads to is waited for too", () => {
  const { kube, replyNext } = heldKube();
  const counted = drainable(kube);
  let idle = 0;
  counted.kube.read(REF, () => counted.kube.write(WRITE, () => {}));
  counted.whenIdle(() => idle++);
  replyNext();
  expect(idle).toBe(0);
  replyNext();
  expect(idle).toBe(1);
});

test("a watch keeps what policies need of nodes", () => {
  const { kube } = heldKube();
  const seen: (readonly string[])[] = [];
  const watched: Kube = {
    ...kube,
    watch: (what, sink, options) => {
      seen.push(options?.policyKeys?.()?.labelKeys ?? []);
      return kube.watch(what, sink, options);
    },
  };
  const sink = { changed: () => {}, gone: () => {}, state: () => {} };
  const keys = { labelKeys: ["pool"], conditionTypes: [], labelsChecksum: 1 };
  drainable(watched).kube.watch("nodes", sink, { policyKeys: () => keys });
  expect(seen).toEqual([["pool"]]);
});
