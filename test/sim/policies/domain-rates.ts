/**
 * Rates per policy: the nodes of a policy that sets a rate or the threshold are a domain of their own in each zone,
 * with a count, a rate and a bucket. All others share those of their zone. No node is tainted while every domain is
 * down, of policies and of zones.
 */
import { leastMs } from "../graces.ts";
import { BrokenInvariant, type CheckedNode, conditionOf } from "../invariants.ts";
import { rateOf, type ZoneCount } from "../zone-rates.ts";
import { domainOf, POLICY_SEPARATOR, type PolicySnapshot } from "./api-policies.ts";
import type { Rates } from "./policy-state.ts";
import { type PolicyView, SinceWhen } from "./policy-view.ts";

/** A grant may still be under way when its domain has just been stopped: see zone-rates.ts. */
const UNDER_WAY_MS = 55_000;
/** The same where nothing is slow. */
const UNDER_WAY_EXACT_MS = 2_500;
/** For this long the API may not answer, and then carry out together what was granted apart. */
const STALL_MS = 45_000;
/** The second that a stamp cuts off, and the time of a write. */
const STAMP_MS = 1_500;
/** The same for a new owner, which knows only the stamps. */
const OWNER_MS = 12_000;

const NONE = (): boolean => false;
const ALL = (): boolean => true;

/** A node that was admitted for eviction while every process knew its domain. */
interface DomainGrant {
  readonly domain: string;
  readonly atMs: number;
}

/** Follows the domains from change to change. */
export class DomainRates {
  readonly #view: PolicyView;
  readonly #stopped = new SinceWhen();
  readonly #grants: DomainGrant[] = [];

  constructor(view: PolicyView) {
    this.#view = view;
  }

  /** Brings up to date since when domains have no rate. */
  look(): void {
    const { nowMs, api } = this.#view;
    const shown = this.#ratesNow(api.now, NONE);
    const silent = this.#ratesNow(api.now, ALL);
    for (const domain of new Set([...this.#stopped.keys(), ...shown.keys()])) {
      const isStopped = shown.get(domain) === 0 && (silent.get(domain) ?? 0) === 0;
      this.#stopped.note(domain, isStopped, nowMs);
    }
  }

  /** Whether the domain of a node has a rate, with and without the nodes that may be found silent. */
  isGranting(node: CheckedNode): boolean {
    const { api } = this.#view;
    const domain = domainOf(api.now, node);
    return [NONE, ALL].every((isSilenced) => (this.#ratesNow(api.now, isSilenced).get(domain) ?? 0) > 0);
  }

  /** The lowest rate that the domain of a node may have now. */
  leastOf(node: CheckedNode): number {
    const { api } = this.#view;
    const domain = domainOf(api.now, node);
    return Math.min(...[NONE, ALL].map((isSilenced) => this.#ratesNow(api.now, isSilenced).get(domain) ?? 0));
  }

  /** A node was admitted for eviction. */
  check(node: CheckedNode): void {
    const { api, nowMs, unknownMs, isExact } = this.#view;
    const domain = domainOf(api.now, node);
    this.look();
    const isSame = (fromMs: number): boolean =>
      api.since(fromMs).every((snapshot) => domainOf(snapshot, node) === domain);
    const stoppedMs = nowMs - (this.#stopped.of(domain) ?? nowMs);
    const boundMs = isExact ? UNDER_WAY_EXACT_MS : UNDER_WAY_MS + unknownMs;
    if (!isSame(this.#view.knownMs)) return;
    this.#grants.push({ domain, atMs: nowMs });
    const isKnown = this.#view.knownMs >= nowMs - unknownMs;
    // A process that has just started knows of some silent nodes and of others not yet.
    const isStopped = this.#ratesNow(api.now, (other) => other === domain).get(domain) === 0;
    if (stoppedMs > boundMs && isKnown && isStopped) {
      throw new BrokenInvariant(`${node.metadata.name} was admitted in ${title(domain)}, stopped for ${stoppedMs} ms`);
    }
    this.#checkRate(domain, isSame);
  }

  #checkRate(domain: string, isSame: (fromMs: number) => boolean): void {
    const { nowMs, unknownMs } = this.#view;
    const grants = this.#grants.filter((grant) => grant.domain === domain);
    const { burst, recoveryMs } = this.#slack;
    for (const [index, { atMs }] of grants.entries()) {
      const fromMs = atMs - unknownMs;
      if (!isSame(fromMs)) continue;
      const perSecond = this.#mostSince(domain, fromMs);
      const count = grants.length - index;
      const windowMs = nowMs - atMs + recoveryMs;
      if (count <= burst + (windowMs / 1000) * perSecond) continue;
      throw new BrokenInvariant(
        `${count} nodes of ${title(domain)} were admitted within ${nowMs - atMs} ms at ${perSecond}/s`,
      );
    }
  }

  get #slack(): { readonly burst: number; readonly recoveryMs: number } {
    const { swarm, isExact } = this.#view;
    const { isRestarted = false } = swarm.policies ?? {};
    if (isExact && !isRestarted) return { burst: 1, recoveryMs: STAMP_MS };
    return { burst: 2, recoveryMs: isExact ? OWNER_MS : STALL_MS };
  }

  /** The highest rate that a domain may have had since an instant. */
  #mostSince(domain: string, fromMs: number): number {
    const { profile } = this.#view.swarm;
    const [, policy] = domain.split(POLICY_SEPARATOR);
    const rates = this.#view.api.since(fromMs).map((each) => each.policies.get(policy ?? "")?.rates ?? null);
    const all = rates.flatMap((each) => [
      each?.primary ?? profile.nodeEvictionsPerSecond,
      each?.secondary ?? profile.secondaryNodeEvictionsPerSecond,
      each?.full ?? 0,
    ]);
    return Math.max(...all);
  }

  /** The rate of each domain; 0 while every domain is down. In these domains silent nodes count as not ready. */
  #ratesNow(snapshot: PolicySnapshot, isSilenced: (domain: string) => boolean): ReadonlyMap<string, number> {
    const counts = new Map<string, ZoneCount>();
    for (const node of this.#view.nodes.values()) {
      const domain = domainOf(snapshot, node);
      const { size, notReady } = counts.get(domain) ?? { size: 0, notReady: 0 };
      const isUp = conditionOf(node, "Ready")?.status === "True" && !(isSilenced(domain) && this.#maySilence(node));
      counts.set(domain, { size: size + 1, notReady: notReady + (isUp ? 0 : 1) });
    }
    const isHalted = [...counts.values()].every(({ size, notReady }) => size === notReady);
    const { profile } = this.#view.swarm;
    return new Map(
      [...counts].map(([domain, count]) => {
        const rates = snapshot.policies.get(domain.split(POLICY_SEPARATOR)[1] ?? "")?.rates ?? null;
        return [domain, isHalted ? 0 : domainRate(count, rates, profile)];
      }),
    );
  }

  /** Whether a node has been without a heartbeat for the shortest grace that it may have. */
  #maySilence({ metadata }: CheckedNode): boolean {
    const { signs } = this.#view.run.world;
    const graceMs = leastMs(this.#view.graces(metadata.name), "monitorMs");
    return this.#view.nowMs - signs.lastBy(metadata.name, this.#view.nowMs) >= graceMs * 0.9;
  }
}

type RateProfile = Parameters<typeof rateOf>[1];

function domainRate(count: ZoneCount, rates: Rates | null, profile: RateProfile): number {
  if (count.size === count.notReady && rates?.full != null) return Math.fround(rates.full);
  return rateOf(count, {
    ...profile,
    nodeEvictionsPerSecond: rates?.primary ?? profile.nodeEvictionsPerSecond,
    secondaryNodeEvictionsPerSecond: rates?.secondary ?? profile.secondaryNodeEvictionsPerSecond,
    unhealthyZoneThreshold: rates?.threshold ?? profile.unhealthyZoneThreshold,
  });
}

function title(domain: string): string {
  return `domain ${JSON.stringify(domain)}`;
}
