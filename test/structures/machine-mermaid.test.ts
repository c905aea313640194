/** Statecharts drawn as Mermaid text. */
import { expect, test } from "vitest";
import { machineMermaid } from "../../services/structures/machine-mermaid.ts";

test("a chart has its initial state, nested states, actions and transitions", () => {
  const chart = {
    initial: "on",
    states: {
      on: {
        initial: "low",
        on: {
          toggle: { target: "off", guard: "isLit", actions: ["click", "cool"] },
          broken: [{ target: "off" }, "on"],
          ignored: { actions: "beep" },
        },
        states: { low: { on: { more: "high" } }, high: {} },
      },
      off: { entry: "dim", on: { toggle: "on", off: "off" }, exit: ["warm", "light"] },
    },
  };
  expect(machineMermaid(chart)).toBe(
    [
      "stateDiagram-v2",
      "  [*] --> on",
      "  state on {",
      "    [*] --> low",
      "    low --> high: more",
      "  }",
      "  on: on",
      "  on: ignored / beep",
      "  on --> off: toggle [isLit] / click, cool",
      "  on --> off: broken",
      "  off: off",
      "  off: entry / dim",
      "  off: exit / warm, light",
      "  off --> on: toggle",
      "",
    ].join("\n"),
  );
});
