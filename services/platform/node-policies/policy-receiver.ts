/**
 * Receives the node policies of one process. They arrive as one message for each policy and one that names them all
 * with their versions; a set counts once every policy of it has arrived. Until then the previous set applies, and
 * before the first one nothing is known: its readers request nothing harmful. Example: `judged.policies` names gpu in
 * version 8, and only version 7 has arrived. The previous set with gpu in version 7 applies until version 8 is here.
 * Where no process of the fleet runs the service policy there are no policies, until one does.
 */

import type { BodyOf, Message } from "../../../protocols/messages.ts";
import { NODE_POLICY_API } from "../../../protocols/node-policy.ts";
import { NO_POLICIES, type NodePolicy, type PolicySet } from "../../../protocols/policy-set.ts";
import type { Bus, Clock, Fleet, Io, Log, Metrics, Policies, Stop, Timer } from "../../../protocols/ports.ts";
import { nodePolicyOf, pauseRequestOf } from "../../domain/node-policy.parse.ts";
import { policySet } from "../../domain/node-policy.ts";

/** A policy as received, parsed once for each version. */
interface ReceivedPolicy {
  readonly version: string;
  readonly policy: NodePolicy;
}

/** Most policies kept that the last set does not name: their set may still be on its way. */
const UNNAMED_MAX = 1000;

interface PolicyReceiverIo extends Pick<Io, "log"> {
  readonly metrics: Pick<Metrics, "gauge">;
  readonly bus: Pick<Bus, "subscribe">;
  readonly clock: Pick<Clock, "after">;
  /** The fleet of a process that may stand by, and then reads policies only when it takes the lead; null for none. */
  readonly elected?: Pick<Fleet, "follow"> | null;
}

/** How long a process waits for its first policies before it logs that, in milliseconds. */
const OVERDUE_MS = 15_000;
const OVERDUE =
  "no node policies were received: no node is found silent, tainted or drained. The process that runs the service policy " +
  "has to reach the API server and NATS";
/** How long pulses are watched for a process that runs the service policy, in milliseconds: five of its pulses. */
const SERVICE_MS = 5_000;
const NO_SERVICE =
  "no process runs the service policy: node policies and freezes have no effect. Add policy to --services of one process";

/** The gauge of policies that are known, which `/readyz` shows too. */
export const POLICIES_KNOWN_GAUGE = "vigil_node_policies_known";

/** The policies of one process, from the bus. */
export class PolicyReceiver implements Policies {
  readonly #log: Log;
  readonly #received = new Map<string, ReceivedPolicy>();
  readonly #followers = new Set<(cause: string | null) => void>();
  readonly #stops: readonly Stop[];
  #wanted: BodyOf<"judged.policies"> | null = null;
  #versions = "";
  #current: PolicySet | null = null;
  readonly #gauge: ReturnType<Metrics["gauge"]>;
  /** Runs from the first pulse on, until one names the service policy or a set has arrived. */
  #service: Timer | null = null;
  #isServed = false;
  /** Runs from when the policies are expected. */
  #overdue: Timer | null = null;

  constructor({ bus, log, clock, metrics, elected = null }: PolicyReceiverIo) {
    this.#log = log;
    this.#gauge = metrics.gauge({
      name: POLICIES_KNOWN_GAUGE,
      help: "1 once the node policies are known; until then no node is found silent, tainted or drained.",
    });
    this.#gauge.set(0);
    const expected = (): void => {
      this.#overdue ??= clock.after(OVERDUE_MS, () => {
        if (this.#current === null) log.warn(OVERDUE);
      });
    };
    if (elected === null) expected();
    this.#stops = [
      elected?.follow("policy", { gained: expected, lost: () => {} }) ?? (() => {}),
      () => this.#overdue?.cancel(),
      () => this.#service?.cancel(),
      bus.subscribe("pulse.member", "all", ({ body: { services, withheld = [], unable, leaving } }) => {
        const named = [...services, ...withheld, ...(unable?.services ?? [])];
        if (named.includes("policy") && !leaving) this.#served();
        else if (!this.#isServed) this.#service ??= clock.after(SERVICE_MS, () => this.#unserved());
      }),
      bus.subscribe("judged.policy", 0, (message) => this.#onPolicy(message)),
      bus.subscribe("judged.policies", 0, ({ body, id }) => {
        this.#wanted = body;
        this.#complete(id);
      }),
    ];
  }

  current(): PolicySet | null {
    return this.#current;
  }

  follow(changed: (cause: string | null) => void): Stop {
    this.#followers.add(changed);
    return () => this.#followers.delete(changed);
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  #served(): void {
    this.#isServed = true;
    this.#service?.cancel();
  }

  #unserved(): void {
    if (this.#current !== null) return;
    this.#log.warn(NO_SERVICE);
    this.#put(NO_POLICIES, null);
  }

  #onPolicy({ body, id }: Message<"judged.policy">): void {
    const { policy, version, spec, frozen, refused } = body;
    if (this.#received.get(policy)?.version === version) return;
    if (this.#received.size >= UNNAMED_MAX) this.#forgetUnnamed();
    const parsed = nodePolicyOf(policy, spec, frozen);
    this.#received.set(policy, { version, policy: refused === undefined ? parsed : { ...parsed, refused } });
    this.#complete(id);
  }

  /** Puts the last named set in force, if all of it has arrived and it differs from the present one. */
  #complete(cause: string): void {
    if (this.#wanted === null) return;
    const versions = JSON.stringify(this.#wanted);
    if (versions === this.#versions) return;
    const policies: NodePolicy[] = [];
    for (const { policy, version } of this.#wanted.policies) {
      const received = this.#received.get(policy);
      if (received?.version !== version) return;
      policies.push(received.policy);
    }
    const { frozen = [], pauseRequests = [], outages = null } = this.#wanted;
    this.#versions = versions;
    this.#forgetUnnamed();
    if (policies.length > 0) {
      this.#log.info(`${NODE_POLICY_API.kind}: in force`, { policies: policies.map(({ name }) => name).join() });
    } else if (this.#current !== null && this.#current.policies.length > 0) {
      this.#log.info(`${NODE_POLICY_API.kind}: none is in force any more`);
    }
    this.#put(policySet(policies, { frozen, pauseRequests: pauseRequests.map(pauseRequestOf) }, outages), cause);
  }

  #put(set: PolicySet, cause: string | null): void {
    this.#current = set;
    this.#gauge.set(1);
    for (const changed of this.#followers) changed(cause);
  }

  #forgetUnnamed(): void {
    const named = new Set(this.#wanted?.policies.map(({ policy }) => policy));
    for (const policy of this.#received.keys()) if (!named.has(policy)) this.#received.delete(policy);
  }
}

/** Policies that never change, for a process that receives none from the bus. */
export function fixedPolicies(set: PolicySet): Policies {
  return { current: () => set, follow: () => () => {} };
}
