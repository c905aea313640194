/** The correlation of repeated Events (R12.2), with client-go's limits. */
import { describe, expect, test } from "vitest";
import {
  EventCorrelator,
  type EventWrite,
  type Occurrence,
  SIMILAR_MAX,
  SIMILAR_WITHIN_MS,
  SPAM_BURST,
  SPAM_REFILL_MS,
} from "../../../services/platform/kube/events/event-correlator.ts";
import { dnsSubdomainProblems } from "../../../services/sandbox/apiserver/validation/object-names.ts";

const START = Date.UTC(2026, 0, 1);
const occurrence = (changes: Partial<Occurrence> = {}): Occurrence => ({
  involvedObject: { apiVersion: "v1", kind: "Pod", namespace: "default", name: "web", uid: "uid-web" },
  reason: "TaintManagerEviction",
  type: "Normal",
  message: "Marking for deletion Pod default/web",
  component: "taint-eviction-controller",
  ...changes,
});
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const messageOf = (write: EventWrite | null) => write?.whole.message;

describe("equal Events", () => {
  test("are one object with a count, its first time and its last time", () => {
    const correlator = new EventCorrelator();
    const first = correlator.correlate(occurrence(), START);
    const second = correlator.correlate(occurrence(), START + 5000);
    expect(first).toMatchObject({ namespace: "default", patch: null, whole: { count: 1 } });
    expect(second?.name).toBe(first?.name);
    expect(second?.patch).toEqual({
      count: 2,
      lastTimestamp: "2026-01-01T00:00:05Z",
      message: "Marking for deletion Pod default/web",
    });
    expect(second?.whole).toMatchObject({ count: 2, firstTimestamp: "2026-01-01T00:00:00Z" });
  });

  test.each<[string, Partial<Occurrence>]>([
    ["source", { component: "node-controller" }],
    ["type", { type: "Warning" }],
    ["reason", { reason: "Other" }],
    ["message", { message: "Other" }],
    ["object", { involvedObject: { ...occurrence().involvedObject, uid: "another" } }],
  ])("differ by their %s", (_what, change) => {
    const correlator = new EventCorrelator();
    const first = correlator.correlate(occurrence(), START);
    const other = correlator.correlate(occurrence(change), START);
    expect(other?.patch).toBeNull();
    expect(other?.name).not.toBe(first?.name);
  });

  test("stay equal when their object's version changes", () => {
    const correlator = new EventCorrelator();
    const at = (resourceVersion: string) =>
      correlator.correlate(occurrence({ involvedObject: { ...occurrence().involvedObject, resourceVersion } }), START);
    at("1");
    expect(at("2")?.patch).toMatchObject({ count: 2 });
  });
});

describe("similar Events", () => {
  const similar = (correlator: EventCorrelator, index: number, at: number) =>
    correlator.correlate(occurrence({ message: `message ${index}` }), at);

  test("are separate up to the ninth message and combined from the tenth", () => {
    const correlator = new EventCorrelator();
    const written = times(SIMILAR_MAX + 2, (index) => similar(correlator, index, START));
    expect(messageOf(written[SIMILAR_MAX - 2] ?? null)).toBe("message 8");
    expect(messageOf(written[SIMILAR_MAX - 1] ?? null)).toBe("(combined from similar events): message 9");
    expect(written[SIMILAR_MAX - 1]?.patch).toBeNull();
    expect(written[SIMILAR_MAX]?.name).toBe(written[SIMILAR_MAX - 1]?.name);
    expect(written[SIMILAR_MAX + 1]?.patch).toMatchObject({
      count: 3,
      message: "(combined from similar events): message 11",
    });
  });

  test("are not combined when each comes more than 600 s after the last", () => {
    const correlator = new EventCorrelator();
    const step = SIMILAR_WITHIN_MS + 1;
    const written = times(SIMILAR_MAX + 5, (index) => similar(correlator, index, START + index * step));
    expect(written.map(messageOf)).toEqual(times(SIMILAR_MAX + 5, (index) => `message ${index}`));
  });

  test("are combined when each comes exactly 600 s after the last", () => {
    const correlator = new EventCorrelator();
    const written = times(SIMILAR_MAX, (index) => similar(correlator, index, START + index * SIMILAR_WITHIN_MS));
    expect(messageOf(written.at(-1) ?? null)).toMatch(/^\(combined/);
  });

  test("that repeat one message are never combined", () => {
    const correlator = new EventCorrelator();
    const written = times(SPAM_BURST, () => similar(correlator, 1, START));
    expect(messageOf(written.at(-1) ?? null)).toBe("message 1");
  });
});

describe("too many Events about an object", () => {
  test("are dropped after 25, save one each 300 s", () => {
    const correlator = new EventCorrelator();
    const at = (ms: number) => correlator.correlate(occurrence(), START + ms) !== null;
    expect(times(SPAM_BURST + 3, () => at(0)).filter(Boolean)).toHaveLength(SPAM_BURST);
    expect(at(SPAM_REFILL_MS - 1)).toBe(false);
    expect(at(SPAM_REFILL_MS)).toBe(true);
    expect(at(SPAM_REFILL_MS)).toBe(false);
  });

  test("affect no other object and no other source", () => {
    const correlator = new EventCorrelator();
    times(SPAM_BURST + 1, () => correlator.correlate(occurrence(), START));
    expect(correlator.correlate(occurrence({ component: "node-controller" }), START)).not.toBeNull();
    const other = { ...occurrence().involvedObject, name: "db", uid: "uid-db" };
    expect(correlator.correlate(occurrence({ involvedObject: other }), START)).not.toBeNull();
  });

  test("lose no token to a clock that steps back", () => {
    const correlator = new EventCorrelator();
    times(SPAM_BURST - 1, () => correlator.correlate(occurrence(), START));
    expect(correlator.correlate(occurrence(), START - 3_600_000)).not.toBeNull();
  });
});

test("R12.1: names are the object's and the time in hex nanoseconds, each unique", () => {
  const correlator = new EventCorrelator();
  const names = times(9, (index) => correlator.correlate(occurrence({ message: `${index}` }), START)?.name);
  expect(new Set(names).size).toBe(9);
  const nanoseconds = BigInt(`0x${names[0]?.slice("web.".length)}`);
  expect(Number(nanoseconds / 1_000_000n)).toBe(START);
});

test("R12.1: an Event about a pod with the longest name has a valid name", () => {
  const correlator = new EventCorrelator();
  // The cut ends behind the dot of the second name.
  for (const name of ["p".repeat(253), `${"p".repeat(235)}.${"q".repeat(17)}`]) {
    const involvedObject = { ...occurrence().involvedObject, name };
    const event = correlator.correlate(occurrence({ involvedObject }), START);
    expect(dnsSubdomainProblems(event?.name ?? "")).toEqual([]);
    expect(event?.whole.involvedObject).toMatchObject({ name });
  }
});
