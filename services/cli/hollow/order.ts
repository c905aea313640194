/** Parses the arguments and flags of `vigil hollow` into an order to running nodes. Pure. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { conditionStatus } from "../../../protocols/objects.ts";
import { DURATION_MS_MAX, parseDuration } from "../../domain/duration.ts";
import { nearest } from "../../domain/suggest.ts";
import { listSetting, textSetting } from "../../platform/config/setting-builders.ts";
import { ConfigProblem, type Setting, type ValuesOf } from "../../platform/config/value.ts";
import { HOLLOW_ORDERS, type HollowOrder } from "../../sandbox/hollow/control.ts";
import type { HollowSelector } from "../../sandbox/hollow/node-selection.ts";
import { unexpectedArgument } from "../verb.ts";

/** The default socket of hollow nodes. */
export const HOLLOW_SOCKET = join(tmpdir(), "vigil-hollow.sock");

/** The flags that select the nodes of an order, and its condition. */
export const ORDER_SETTINGS = {
  names: listSetting("node", "hollow-7,hollow-8", "Orders: only the nodes of these names."),
  match: textSetting("match", "hollow-1.*", "Orders: only nodes whose whole name matches this regular expression."),
  zone: textSetting("zone", "zone-3", "Orders: only nodes of this zone."),
  fraction: {
    unit: "fraction",
    flag: "fraction",
    standard: 1,
    meaning: "Orders: only this fraction of the nodes, chosen at random.",
    example: "0.3",
  } as Setting<number>,
  condition: textSetting("condition", "MemoryPressure=True", "Order set: the condition to report from now on."),
} as const;

/** An order from its arguments and flags. Throws a ConfigProblem. */
export function orderOf(words: readonly string[], values: Readonly<ValuesOf<typeof ORDER_SETTINGS>>): HollowOrder {
  const [name = "", ...rest] = words;
  const order = HOLLOW_ORDERS.find((known) => known === name);
  if (order === undefined) {
    const meant = nearest(name, HOLLOW_ORDERS);
    const hint = meant === null ? "" : `; did you mean ${meant}?`;
    throw new ConfigProblem(`hollow ${name}: no such order; the orders are ${HOLLOW_ORDERS.join(", ")}${hint}`);
  }
  const selector = selectorOf(values);
  const timed = order === "lag" || order === "flap";
  const extra = rest[timed ? 1 : 0];
  if (extra !== undefined) throw unexpectedArgument(["hollow", ...words], extra);
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
  if (text === undefined) throw new ConfigProblem(`hollow ${order}: needs a duration, as in vigil hollow ${order} 45s`);
  const durationMs = parseDuration(text);
  if (durationMs === null || durationMs > DURATION_MS_MAX) {
    throw new ConfigProblem(`hollow ${order} ${text}: not a duration; write it as vigil hollow ${order} 45s`);
  }
  return durationMs;
}

function conditionOf(text: string): NonNullable<HollowOrder["condition"]> {
  const [type = "", value = ""] = text.split("=");
  const status = conditionStatus.safeParse(value);
  if (type === "" || !status.success) {
    throw new ConfigProblem(`--condition=${text}: write it as ${ORDER_SETTINGS.condition.example}`);
  }
  return { type, status: status.data };
}
