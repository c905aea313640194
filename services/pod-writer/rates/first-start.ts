/**
 * Whether an owner of the rates is the first one ever, so that no eviction before it counts. Three things have to show
 * it:
 *
 *   the Lease       no process has held it. One that was deleted and is created again looks the same
 *   the ConfigMap   exists, and remembers no limits: the policy service writes them once any pod or node was permitted
 *   the policies    have had a rate since this process owns the rates: one that gets its first rate later has evicted
 *
 * What cannot be read does not count as shown.
 */
import { FREEZE_CONFIG_MAP } from "../../../protocols/names.ts";
import type { Kube } from "../../../protocols/ports.ts";
import { recordOf } from "../../structures/json.ts";

/** What one owner knows about the time before it. */
export class FirstStart {
  readonly #kube: Pick<Kube, "read">;
  readonly #found: () => void;
  /** The present reading of the ConfigMap; null before the first policies and after they were found to be too late. */
  #reading: object | null = null;
  #isAwaited = false;
  #isMemoryEmpty = false;
  #isNeverHeld = false;

  /** Calls `found` when everything shows that this is the first start. */
  constructor(kube: Pick<Kube, "read">, found: () => void) {
    this.#kube = kube;
    this.#found = found;
  }

  /** This process owns the rates from now on. */
  own(): void {
    this.#isAwaited = true;
  }

  /** The policies are known, with a rate or without any. Only the first ones count. */
  policies(isRated: boolean): void {
    if (!this.#isAwaited) return;
    this.#isAwaited = false;
    const reading = {};
    this.#reading = isRated ? reading : null;
    this.#isMemoryEmpty = false;
    this.#isNeverHeld = false;
    if (!isRated) return;
    this.#kube.read(FREEZE_CONFIG_MAP, (reply) => {
      if (this.#reading !== reading) return;
      this.#isMemoryEmpty = reply.outcome === "ok" && recordOf(reply.object.data).limits === undefined;
      this.#conclude();
    });
  }

  /** This process holds the Lease from now on, which no process had held before. */
  lease(isNeverHeld: boolean): void {
    this.#isNeverHeld = isNeverHeld;
    this.#conclude();
  }

  #conclude(): void {
    if (!this.#isNeverHeld || !this.#isMemoryEmpty) return;
    this.#isMemoryEmpty = false;
    this.#found();
  }
}
