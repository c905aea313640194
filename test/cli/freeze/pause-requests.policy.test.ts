/** What `vigil freeze` and `vigil thaw` write. */
import { describe, expect, test } from "vitest";
import {
  requestsIn,
  thawed,
  type WrittenRequest,
  withRequest,
} from "../../../services/cli/freeze/pause-requests.policy.ts";

import { Failure } from "../../../services/cli/verb.ts";

const NOW = Date.UTC(2026, 0, 2);
const HOUR = 3_600_000;
const at = (hours: number): string => new Date(NOW + hours * HOUR).toISOString().replace("Z", "000Z");
const request = (since: number, until: number | null, policy?: string): WrittenRequest => ({
  name: "oncall",
  since: at(since),
  ...(until === null ? {} : { until: at(until) }),
  ...(policy === undefined ? {} : { policy }),
});

describe("a freeze", () => {
  test("is one request more, and drops what ended more than a day ago", () => {
    const added = request(0, 2);
    const known = [request(-30, -25), request(-30, -23), request(-1, null)];
    expect(withRequest(known, added, NOW)).toEqual([...known.slice(1), added]);
  });

  test("fails where 64 others have not ended", () => {
    const known = Array.from({ length: 64 }, () => request(-1, null));
    expect(() => withRequest(known, request(0, 2), NOW)).toThrow(Failure);
    expect(() => withRequest(known, request(0, 2), NOW)).toThrow("already 64 pause requests");
  });

  test("takes the place of those that ended first", () => {
    const ended = Array.from({ length: 66 }, (_, index) => request(-9, -1 - (index % 6) / 10));
    const added = request(0, 2);
    const left = withRequest(ended, added, NOW);
    expect(left).toHaveLength(64);
    expect(left.at(-1)).toEqual(added);
    expect(left.filter(({ until }) => until === at(-1.5))).toHaveLength(8);
    expect(left.filter(({ until }) => until === at(-1.4))).toHaveLength(11);
  });
});

describe("a thaw", () => {
  test.each([
    ["ends a freeze without an end", [request(-1, null)], [request(-1, 0)], 1],
    ["ends a freeze before its end", [request(-1, 2)], [request(-1, 0)], 1],
    ["takes one off that has not begun", [request(1, 2)], [], 1],
    ["leaves what has ended", [request(-3, -1)], [request(-3, -1)], 0],
    ["leaves those of policies", [request(-1, null, "gpu")], [request(-1, null, "gpu")], 0],
  ])("%s", (_what, before, after, ended) => {
    expect(thawed(before, undefined, NOW)).toEqual({ requests: after, ended });
  });

  test("of a policy leaves those of all nodes and of others", () => {
    const known = [request(-1, null), request(-1, null, "gpu"), request(-1, null, "spot")];
    expect(thawed(known, "gpu", NOW)).toEqual({
      requests: [known[0], request(-1, 0, "gpu"), known[2]],
      ended: 1,
    });
  });
});

test("requests are known as far as they can be read, as they are in force", () => {
  const list = [
    { name: "a" },
    { nome: "b" },
    { name: "c", policy: "gpu", until: "tomorrow" },
    { name: "d", policy: 3 },
  ];
  expect(requestsIn(list)).toEqual([{ name: "a" }, { name: "unknown" }, { name: "c", policy: "gpu" }, { name: "d" }]);
  expect(requestsIn(undefined)).toEqual([]);
});
