/** Hollow nodes against the embedded API on virtual time, in two zones by turns. */

import { HollowNodes, type HollowOptions } from "../../../services/sandbox/hollow/hollow.service.ts";
import type { HollowNodeSpec } from "../../../services/sandbox/hollow/hollow-stats.ts";
import { VirtualApi } from "../../agent/virtual-api.ts";

/** Milliseconds. */
export const SECOND = 1000;

/** The API, and nodes `n-0`, `n-1`, … on it. */
export class HollowWorld extends VirtualApi {
  /** Starts this many nodes and gives them a second to register. */
  start(count: number, changes: Partial<HollowNodeSpec> = {}, options: Partial<HollowOptions> = {}): HollowNodes {
    const { clock, kube, random, log } = this;
    const nodes = Array.from({ length: count }, (_, index) => ({
      name: `n-${index}`,
      zone: `z-${index % 2}`,
      ...changes,
    }));
    const hollow = new HollowNodes({ clock, kube, random, log, nodes, ...options });
    clock.advance(SECOND);
    return hollow;
  }

  /** How many milliseconds ago a node renewed its lease. */
  silenceMs(name: string): number {
    return this.clock.wallMs() - Date.parse(String(this.lease(name)?.spec?.renewTime));
  }
}
