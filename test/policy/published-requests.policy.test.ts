/** Which pause requests are published. */
import { expect, test } from "vitest";
import { FROZEN_INTERVALS_MAX, POLICIES_MAX, POLICY_NAME_MAX } from "../../protocols/judged.ts";
import type { PauseRequestSpec } from "../../protocols/node-policy.ts";
import { encode } from "../../protocols/wire.ts";
import { publishedRequests } from "../../services/policy/freezes.policy.ts";

const NOW = Date.UTC(2026, 0, 1);
const at = (seconds: number): string => new Date(NOW + seconds * 1000).toISOString();

test("are those that have not ended", () => {
  const running: PauseRequestSpec[] = [{ name: "a" }, { name: "b", since: at(60) }, { name: "c", until: at(1) }];
  expect(publishedRequests([...running, { name: "d", until: at(0) }], NOW)).toEqual(running);
});

test("are the newest", () => {
  const requests = Array.from({ length: 64 }, (_, index) => ({ name: `r${index}` }));
  expect(publishedRequests(requests, NOW)).toEqual(requests.slice(-16));
});

test("have short texts, and one is left of the longest", () => {
  const long = (text: string): PauseRequestSpec => ({ name: text.repeat(1024), reason: text.repeat(1024) });
  const published = publishedRequests(
    Array.from({ length: 64 }, () => long("x")),
    NOW,
  );
  expect(published[0]).toEqual({ name: "x".repeat(128), reason: "x".repeat(128) });
  expect(JSON.stringify(published).length).toBeLessThanOrEqual(2048);
  expect(publishedRequests([long("\u0000"), long("\u0001")], NOW)).toHaveLength(1);
});

test("fit into the message with the longest names of policies", () => {
  const frozen = Array.from({ length: FROZEN_INTERVALS_MAX }, (_, index) => ({ fromAt: NOW + index, toAt: NOW }));
  const policies = Array.from({ length: POLICIES_MAX }, () => {
    return { policy: "p".repeat(POLICY_NAME_MAX), version: "01234567" };
  });
  const long = { name: "€".repeat(1024), reason: "€".repeat(1024) };
  const pauseRequests = publishedRequests(
    Array.from({ length: 64 }, () => long),
    NOW,
  );
  const frame = { id: "i".repeat(64), source: "s".repeat(64), at: NOW, cause: null };
  const message = { type: "judged.policies", ...frame, body: { policies, frozen, pauseRequests } } as const;
  expect(() => encode(message)).not.toThrow();
});
