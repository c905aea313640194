/** What `vigil get` prints of each topic. Pure: the answers of a console and the time come in as arguments. */
import type { NodeReport, PendingEviction, ZoneReport } from "../../protocols/status.ts";
import { paceText, spanText, taintText } from "../ledger/words.ts";
import { zoneTitleOf } from "../runtime/zone-key.ts";
import { tableText } from "./table.ts";

/** The zones and their pace. */
export function zonesTable(zones: readonly ZoneReport[], nowMs: number): string {
  return tableText(
    ["ZONE", "STATE", "FOR", "NODES", "NOT READY", "EVICTS", "WAITING"],
    zones.map(({ title, state, since, size, notReady, taintsPerSecond, queueLength, halted }) => [
      title,
      halted ? `${state} (halted)` : state,
      spanText(nowMs - since),
      String(size),
      String(notReady),
      paceText(halted ? 0 : taintsPerSecond),
      String(queueLength),
    ]),
  );
}

/** The nodes as judged, by name. */
export function nodesTable(nodes: readonly NodeReport[], nowMs: number): string {
  return tableText(
    ["NODE", "READINESS", "FOR", "LAST SIGN", "EVICTION", "ZONE"],
    nodes
      .toSorted((left, right) => left.name.localeCompare(right.name))
      .map(({ name, readiness, since, heartbeatAt, eviction, zone }) => [
        name,
        readiness,
        spanText(nowMs - since),
        // Of a node that lives only the sign before its last judgement is told: many have followed it.
        heartbeatAt === null || readiness !== "unknown" ? "" : `${spanText(nowMs - heartbeatAt)} ago`,
        eviction,
        zoneTitleOf(zone),
      ]),
  );
}

/** The pods that wait for their deletion, soonest first. */
export function timersTable(evictions: readonly PendingEviction[], nowMs: number): string {
  return tableText(
    ["NAMESPACE", "POD", "NODE", "DUE", "TAINT"],
    evictions.map(({ namespace, name, node, deadlineAt, taint }) => [
      namespace,
      name,
      node,
      deadlineAt === null || deadlineAt <= nowMs ? "now" : `in ${spanText(deadlineAt - nowMs)}`,
      taint === null ? "" : taintText(taint),
    ]),
  );
}
