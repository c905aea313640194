/** The failures of a comparison: those that last, by node, and all of them, the oldest dropped first. */
import type { Incident } from "./incident.ts";

/** Failures kept at once, and pods of all of them, about a kilobyte each. */
const INCIDENTS_MAX = 5_000;
const PODS_MAX = 100_000;

/** The failures of all nodes. */
export class Incidents {
  /** By node and beginning, in the order in which they were recorded. */
  readonly #all = new Map<string, Incident>();
  readonly #open = new Map<string, Incident>();
  #completeFrom = Number.NEGATIVE_INFINITY;

  /** Since when none was dropped for its number, epoch milliseconds. */
  get completeFrom(): number {
    return this.#completeFrom;
  }

  /** The failure of a node that lasts. */
  open(node: string): Incident | undefined {
    return this.#open.get(node);
  }

  /** The last failure of a node, which may be over. */
  last(node: string): Incident | undefined {
    return this.#open.get(node) ?? [...this.#all.values()].findLast((incident) => incident.node === node);
  }

  /** Every failure that lasts. */
  allOpen(): readonly Incident[] {
    return [...this.#open.values()];
  }

  /** Every failure, the earliest first, then by node. */
  all(): readonly Incident[] {
    const byNode = (left: Incident, right: Incident) => (left.node < right.node ? -1 : 1);
    return [...this.#all.values()].sort((left, right) => left.from - right.from || byNode(left, right));
  }

  /** Adds a failure that begins. */
  begin(incident: Incident): void {
    this.#add(incident);
    this.#open.set(incident.node, incident);
  }

  /** Adds a stored failure, and returns false if it is known already. */
  restore(incident: Incident): boolean {
    if (this.#all.has(keyOf(incident))) return false;
    this.#add(incident);
    return true;
  }

  /** Lets a stored failure go on. */
  reopen(incident: Incident): void {
    this.#open.set(incident.node, incident);
  }

  /** Lets a stored failure go on in place of what was recorded of it since. */
  replace(live: Incident, stored: Incident): void {
    this.#all.delete(keyOf(live));
    this.#open.set(stored.node, stored);
  }

  /** Ends the failure of a node, and returns it. */
  close(node: string, at: number): Incident | undefined {
    const incident = this.#open.get(node);
    this.#open.delete(node);
    if (incident !== undefined) incident.to = at;
    return incident;
  }

  /** Drops the failures that ended before an instant, and the oldest if there are too many. */
  forgetBefore(at: number): void {
    for (const [key, { to }] of this.#all) if (to !== null && to < at) this.#all.delete(key);
    let pods = 0;
    for (const incident of this.all().toReversed()) {
      pods += incident.pods.size;
      if (pods > PODS_MAX) this.#drop(incident);
    }
  }

  #add(incident: Incident): void {
    this.#all.set(keyOf(incident), incident);
    const [oldest] = this.#all.values();
    if (this.#all.size > INCIDENTS_MAX && oldest !== undefined) this.#drop(oldest);
  }

  #drop(incident: Incident): void {
    this.#all.delete(keyOf(incident));
    if (this.#open.get(incident.node) === incident) this.#open.delete(incident.node);
    this.#completeFrom = Math.max(this.#completeFrom, incident.from + 1);
  }
}

function keyOf({ node, from }: Incident): string {
  return `${node} ${from}`;
}
