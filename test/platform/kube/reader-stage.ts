/** A reader of nodes on a scripted wire and virtual time, with the objects and answers its tests are made of. */
import type { Kube } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { type Seen, seeNodes } from "../../support/kube-probe.ts";
import { type ScriptedRequest, ScriptedWire } from "./scripted-wire.ts";

/** The start of the wall clock. */
export const START = Date.parse("2026-01-01T00:00:00Z");

/** Close to 1, so that every jitter is nearly its ceiling. */
const CHANCE = 0.999;

/** A node as the API shows it. */
export function node(name: string, version: string, uid = `uid-${name}`): object {
  return { metadata: { name, uid, resourceVersion: version, creationTimestamp: "2025-12-31T00:00:00Z" } };
}

/** A list of nodes. */
export function list(version: string, items: unknown[], more: Record<string, unknown> = {}): object {
  return { kind: "NodeList", apiVersion: "v1", metadata: { resourceVersion: version, ...more }, items };
}

/** The response of a server without that history. */
export const EXPIRED = { kind: "Status", status: "Failure", reason: "Expired", message: "too old", code: 410 };

/** The response of an overloaded server. */
export const TOO_MANY = { kind: "Status", status: "Failure", reason: "TooManyRequests", message: "later", code: 429 };

/** A reader that has just requested its first list. */
export class ReaderStage {
  readonly clock = new VirtualClock({ wallMs: START });
  readonly wire = new ScriptedWire();
  readonly metrics = createMetrics();
  readonly kube: Kube = createKube({
    wire: this.wire,
    clock: this.clock,
    random: () => CHANCE,
    log: silentLog,
    metrics: this.metrics,
    profile: STANDARD_PROFILE,
  });
  readonly seen: Seen<"nodes"> = seeNodes(this.kube);

  /** Answers the first list and opens the watch behind it. */
  synced(...items: unknown[]): ScriptedRequest {
    this.wire.next().answer(200, list("10", items));
    const watch = this.wire.next();
    watch.open();
    return watch;
  }
}
