/** Orders to hollow nodes as lines. */
import { beforeEach, describe, expect, it } from "vitest";
import { type HollowAnswer, type HollowOrder, obey } from "../../../services/sandbox/hollow/control.ts";
import { HollowNodes } from "../../../services/sandbox/hollow/hollow.service.ts";
import { VirtualApi } from "../../agent/virtual-api.ts";

let api: VirtualApi;
let hollow: HollowNodes;

beforeEach(() => {
  api = new VirtualApi();
  const { clock, kube, random, log } = api;
  const nodes = [0, 1, 2, 3].map((index) => ({ name: `n-${index}`, zone: `z-${index % 2}` }));
  hollow = new HollowNodes({ clock, kube, random, log, nodes });
  clock.advance(1000);
});

const order = (given: HollowOrder) => JSON.parse(obey(hollow, JSON.stringify(given))) as HollowAnswer;
const summary = { nodes: 4, registered: 4, stopped: 0, pods: 0, podsCreated: 0 };

describe("an order on a line", () => {
  it("reaches the named nodes and reports the state of all", () => {
    expect(order({ order: "stop", selector: { zone: "z-1" } })).toEqual({
      reached: 2,
      summary: { ...summary, stopped: 2 },
    });
    expect(order({ order: "resume", selector: {} })).toEqual({ reached: 4, summary });
    expect(order({ order: "lag", selector: { names: ["n-0"] }, durationMs: 5 })).toEqual({ reached: 1, summary });
    expect(order({ order: "flap", selector: { match: "n-3" }, durationMs: 50 })).toMatchObject({
      reached: 1,
      summary: { stopped: 1 },
    });
    expect(order({ order: "remove", selector: {} })).toMatchObject({ reached: 4, summary: { nodes: 0 } });
  });

  it("sets a condition", () => {
    const condition = { type: "DiskPressure", status: "True" } as const;
    expect(order({ order: "set", selector: { names: ["n-2"] }, condition })).toEqual({ reached: 1, summary });
    api.clock.advance(0);
    expect(api.condition("DiskPressure", "n-2")?.status).toBe("True");
  });

  it("for the status changes nothing", () => {
    expect(order({ order: "status", selector: {} })).toEqual({ reached: 0, summary });
  });

  it.each([
    ["no json", "not valid JSON"],
    ["null", "order: must be one of"],
    ['{"order":"explode"}', "order: must be one of"],
    ['{"order":"set"}', "condition: missing"],
    ['{"order":"set","condition":{"type":"Ready","status":"Maybe"}}', "status must be one of True, False, Unknown"],
    ['{"order":"lag"}', "durationMs: missing"],
    ['{"order":"flap","durationMs":-1}', "durationMs: must be 0 or more"],
    ['{"order":"stop","selector":{"match":"("}}', "Invalid regular expression"],
  ])("that is %s is refused with its fault, and nothing changes", (line, problem) => {
    expect(JSON.parse(obey(hollow, line))).toEqual({ problem: expect.stringContaining(problem) });
    expect(hollow.summary()).toEqual(summary);
  });
});
