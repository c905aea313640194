/** The words and flags of `vigil hollow` as an order to the nodes that run elsewhere. Pure. */
import { conditionStatus } from "../../../protocols/objects.ts";
import { parseDuration } from "../../platform/config/duration.ts";
import { nearest } from "../../platform/config/suggest.ts";
import { ConfigProblem, type Setting, type ValuesOf } from "../../platform/config/value.ts";
import { HOLLOW_ORDERS, type HollowOrder } from "../../sandbox/hollow/control.ts";
import type { HollowSelector } from "../../sandbox/hollow/node-selection.ts";

/** Which nodes an order is for, and with what. */
export const ORDER_SETTINGS = {
  names: {
    unit: "list",
    flag: "node",
    standard: [],
    meaning: "Orders: only the nodes of these names.",
    example: "hollow-7,hollow-8",
  } as Setting<readonly string[]>,
  match: {
    unit: "text",
    flag: "match",
    standard: "",
    meaning: "Orders: only nodes whose whole name matches this regular expression.",
    example: "hollow-1.*",
  } as Setting<string>,
  zone: {
    unit: "text",
    flag: "zone",
    standard: "",
    meaning: "Orders: only nodes of this zone.",
    example: "zone-3",
  } as Setting<string>,
  fraction: {
    unit: "fraction",
    flag: "fraction",
    standard: 1,
    meaning: "Orders: only so large a share of them, drawn at random.",
    example: "0.3",
  } as Setting<number>,
  condition: {
    unit: "text",
    flag: "condition",
    standard: "",
    meaning: "Order set: the condition to show from now on.",
    example: "MemoryPressure=True",
  } as Setting<string>,
} as const;

/** An order from its words and flags. Throws a ConfigProblem. */
export function orderOf(words: readonly string[], values: Readonly<ValuesOf<typeof ORDER_SETTINGS>>): HollowOrder {
  const [name = "", ...rest] = words;
  const order = HOLLOW_ORDERS.find((known) => known === name);
  if (order === undefined) {
    const meant = nearest(name, HOLLOW_ORDERS);
    const hint = meant === null ? "" : `; did you mean ${meant}?`;
    throw new ConfigProblem(`hollow ${name}: the orders are ${HOLLOW_ORDERS.join(", ")}${hint}`);
  }
  const selector = selectorOf(values);
  const timed = order === "lag" || order === "flap";
  if (rest.length > (timed ? 1 : 0)) throw new ConfigProblem(`hollow ${words.join(" ")}: ${rest.at(-1)} is too much`);
  if (timed) return { order, selector, durationMs: durationOf(order, rest[0]) };
  return order === "set" ? { order, selector, condition: conditionOf(values.condition) } : { order, selector };
}

function selectorOf({ names, match, zone, fraction }: Readonly<ValuesOf<typeof ORDER_SETTINGS>>): HollowSelector {
  try {
    new RegExp(match);
  } catch {
    throw new ConfigProblem(`--match=${match}: not a regular expression; write it as ${ORDER_SETTINGS.match.example}`);
  }
  return {
    ...(names.length > 0 && { names }),
    ...(match !== "" && { match }),
    ...(zone !== "" && { zone }),
    ...(fraction < 1 && { fraction }),
  };
}

function durationOf(order: string, text: string | undefined): number {
  if (text === undefined) throw new ConfigProblem(`hollow ${order}: say how long, as in vigil hollow ${order} 45s`);
  const durationMs = parseDuration(text);
  if (durationMs === null) {
    throw new ConfigProblem(`hollow ${order} ${text}: not a duration; write it as vigil hollow ${order} 45s`);
  }
  return durationMs;
}

function conditionOf(text: string): NonNullable<HollowOrder["condition"]> {
  const [type = "", said = ""] = text.split("=");
  const status = conditionStatus.safeParse(said);
  if (type === "" || !status.success) {
    throw new ConfigProblem(`--condition=${text}: write it as ${ORDER_SETTINGS.condition.example}`);
  }
  return { type, status: status.data };
}
