/**
 * A cluster on virtual time with two controllers that do not know each other: Vigil, and one like upstream's. A second
 * Vigil on a bus of its own plays upstream, with upstream's grace. The writes of both are recorded.
 */
import type { HttpRequest, Wire } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { startLedger } from "../../services/ledger/ledger.service.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { EVICTING, EvictionWorld } from "./eviction-world.ts";
import type { Services, VirtualProcess } from "./virtual-cluster.ts";

const SECOND = 1000;
/** Grace of the Vigil beside upstream. */
export const BESIDE_GRACE_MS = 20 * SECOND;
/** Grace of upstream. */
export const UPSTREAM_GRACE_MS = 50 * SECOND;

const { zone: _zone, "taint-manager": _taintManager, ...MARKING } = EVICTING;
const BESIDE: Services = { ...MARKING, ledger: (io) => startLedger(io).stop };

/** A cluster under upstream and Vigil. */
export class BesideWorld extends EvictionWorld {
  /** The writes of Vigil, as `PATCH nodes/a-0/status`, in order. */
  readonly writes: string[] = [];
  /** The same of upstream. */
  readonly upstreamWrites: string[] = [];

  /** Starts Vigil beside upstream. */
  startVigil(profile: Partial<Profile> = {}): VirtualProcess {
    return this.start(BESIDE, {
      member: "beside",
      profile: { upstream: "beside", nodeMonitorGraceMs: BESIDE_GRACE_MS, ...profile },
      wireOver: (wire) => recording(wire, this.writes),
    });
  }

  /** Starts upstream. */
  startUpstream(profile: Partial<Profile> = {}): VirtualProcess {
    return this.start(EVICTING, {
      member: "upstream",
      transport: memoryTransport(this.clock),
      profile: { nodeMonitorGraceMs: UPSTREAM_GRACE_MS, ...profile },
      wireOver: (wire) => recording(wire, this.upstreamWrites),
    });
  }

  /** Vigil's writes of nodes and pods so far; Events are left out. */
  objectWrites(): string[] {
    return this.writes.filter((write) => !write.includes(" events"));
  }
}

/** Adds every write to a list. */
function recording(wire: Wire, writes: string[]): Wire {
  return {
    send: (request, exchange) => {
      if (request.method !== "GET") writes.push(textOf(request));
      return wire.send(request, exchange);
    },
  };
}

function textOf({ method, path }: HttpRequest): string {
  const [where = ""] = path.split("?");
  return `${method} ${where.replace(/^\/api\/v1\//, "").replace(/^namespaces\/[^/]+\//, "")}`;
}
