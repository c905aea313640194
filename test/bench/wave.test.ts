/** What a wave of evictions consists of, by the API server's record, and its drawing. */
import { describe, expect, test } from "vitest";
import type { AuditedRequest } from "../support/kube-audit.ts";
import { BareClient } from "./bare-client.ts";
import { latenessOf } from "./evictions.ts";
import { drawWaves } from "./wave-drawing.ts";
import { meanStagesMs, stagesOf } from "./wave-stages.ts";

const DUE = Date.UTC(2026, 0, 1);
const WAVE = { due: 3, pods: ["b", "a"].map((name) => ({ name, dueAt: DUE, seenAt: DUE + 400 })) };

function request(
  what: Pick<AuditedRequest, "verb" | "resource" | "name">,
  receivedAfterMs: number,
  answeredAfterMs: number,
): AuditedRequest {
  const [receivedAt, answeredAt] = [DUE + receivedAfterMs, DUE + answeredAfterMs];
  const rest = { user: "controller", apiGroup: "", namespace: "default", status: 200, isDryRun: false, answer: null };
  return { ...rest, ...what, receivedAt, answeredAt };
}

const mark = (name: string, ...after: [number, number]) =>
  request({ verb: "patch", resource: "pods/status", name }, ...after);
const deletion = (name: string, ...after: [number, number]) =>
  request({ verb: "delete", resource: "pods", name }, ...after);

describe("a wave of evictions", () => {
  const requests = [mark("a", 10, 60), mark("b", 20, 70), deletion("b", 200, 400), deletion("a", 100, 300)];

  test("has four stages for each pod, the first deletion first", () => {
    const evictions = stagesOf(WAVE, requests);
    expect(evictions).toEqual([
      [10, 60, 100, 300],
      [20, 70, 200, 400],
    ]);
    expect(meanStagesMs(evictions)).toEqual([15, 50, 85, 200]);
  });

  test("has no mark on a server where no controller sets one", () => {
    expect(stagesOf(WAVE, [deletion("a", 100, 300)])).toEqual([[100, 100, 100, 300]]);
  });

  test("counts a refused deletion for nothing", () => {
    expect(stagesOf(WAVE, [{ ...deletion("a", 100, 300), status: 409 }])).toEqual([]);
  });

  test("has a pod that is never deleted as infinitely late", () => {
    expect(latenessOf(WAVE)).toEqual([400, 400, Number.POSITIVE_INFINITY]);
  });

  test("is drawn with one colour for each stage, below its heading", () => {
    const svg = drawWaves([{ heading: "Vigil", evictions: stagesOf(WAVE, requests) }]);
    expect(svg.match(/<path/g)).toHaveLength(4);
    expect(svg).toContain(">Vigil</text>");
    expect(svg).toContain('d="M16 97.5h7M16 172.5h15"');
    expect(svg).toContain(">1 s</text>");
  });
});

describe("the client that only writes", () => {
  test("sends sixteen at once, then the most urgent first", async () => {
    const client = new BareClient();
    const sent: string[] = [];
    const ends: (() => void)[] = [];
    const write = (urgency: number, name: string) =>
      client.write(urgency, () => {
        sent.push(name);
        return new Promise<void>((end) => ends.push(end));
      });
    for (let index = 0; index < 16; index++) write(1, "early");
    write(1, "late");
    write(0, "urgent");
    expect(sent).toHaveLength(16);
    ends[0]?.();
    await Promise.resolve();
    await Promise.resolve();
    expect(sent.slice(16)).toEqual(["urgent"]);
    expect(client.sent).toBe(17);
  });
});
