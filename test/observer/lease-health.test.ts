/** The check of a quiet lease watch: what of it is no sign of a stale watch. */
import { beforeEach, describe, expect, test } from "vitest";
import type { Io, Kube, ReadReply } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { LeaseCheck } from "../../services/observer/lease-health.ts";
import { VirtualClock } from "../support/clock.virtual.ts";

const AT = Date.parse("2026-01-01T00:00:00Z");

let clock: VirtualClock;
let replies: ((reply: ReadReply) => void)[];
let watched: Map<string, number | null>;
let stale: string[];
let check: LeaseCheck;

beforeEach(() => {
  clock = new VirtualClock();
  replies = [];
  watched = new Map([["n1", AT]]);
  stale = [];
  const kube: Pick<Kube, "read"> = { read: (_ref, done) => replies.push(done) };
  const io: Partial<Io> = { clock, kube: kube as Kube, profile: STANDARD_PROFILE };
  check = new LeaseCheck(io as Io, {
    sample: () => [],
    renewedAt: (name) => watched.get(name),
    stale: (detail) => stale.push(detail),
  });
});

const live = (renewedAt: number): ReadReply => ({
  outcome: "ok",
  object: { metadata: { name: "n1" }, spec: { renewTime: new Date(renewedAt).toISOString() } },
});

describe("a watch is not stale", () => {
  test("that deletes a lease after its renewal was read live", () => {
    check.compare("n1");
    replies[0]?.(live(AT + 10_000));
    clock.advance(500);
    watched.delete("n1");
    clock.advance(1_000);
    expect(stale).toEqual([]);
  });

  test("that brings a lease after it was read as gone", () => {
    check.compare("n1");
    replies[0]?.({ outcome: "gone", detail: "" });
    clock.advance(500);
    watched.set("n1", AT + 20_000);
    clock.advance(1_000);
    expect(stale).toEqual([]);
  });
});

test("a watch that stays behind is stale", () => {
  check.compare("n1");
  replies[0]?.(live(AT + 10_000));
  clock.advance(1_000);
  expect(stale).toHaveLength(1);
});

describe("a renewal that a writer has read", () => {
  test("is compared once, and shows a stale watch", () => {
    for (const _pod of ["a", "b", "c"]) check.onRenewal("n1", AT + 10_000);
    expect(replies).toHaveLength(1);
    replies[0]?.(live(AT + 10_000));
    clock.advance(1_000);
    expect(stale).toEqual(["the lease of n1 is newer than its watch"]);
  });

  test("that the watch has shown is not compared", () => {
    check.onRenewal("n1", AT);
    expect(replies).toEqual([]);
  });
});
