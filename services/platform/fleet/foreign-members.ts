/**
 * The members of another Kubernetes cluster that speak under this one's name. It tells them from ours and counts them;
 * what is to follow is decided by who hears them.
 */

import { memberOf } from "../../../protocols/frame.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { Clock, Metrics } from "../../../protocols/ports.ts";
import { LiveMembers, type NumberedPulse, type PulseProfile, type PulseResult } from "./live-members.ts";

/** What strangers are told by. */
export interface ForeignMembersOptions {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly profile: PulseProfile;
  /** Name of the Kubernetes cluster in subjects. */
  readonly cluster: string;
  /** The uid of namespace kube-system at our API server. */
  readonly clusterUid: string;
}

/** A stranger's pulse: what it changes in what is known of its sender, and the fault in one line. */
export interface ForeignPulse {
  readonly result: PulseResult;
  readonly problem: string;
}

/** A pulse, with the Kubernetes cluster that it names. */
export type ClusterPulse = NumberedPulse & Pick<BodyOf<"pulse.member">, "clusterUid">;

/**
 * The members that have pulsed for another Kubernetes cluster within the time-out, at most as many as a fleet may have.
 * A member that names no cluster is no stranger, nor is one of ours under whose name somebody names another cluster:
 * otherwise one forged pulse would silence it.
 */
export class ForeignMembers {
  readonly clusterUid: string;
  readonly #cluster: string;
  readonly #members: LiveMembers;
  readonly #count: ReturnType<Metrics["gauge"]>;

  constructor({ clock, metrics, profile, cluster, clusterUid }: ForeignMembersOptions) {
    this.clusterUid = clusterUid;
    this.#cluster = cluster;
    const help = "Processes of another Kubernetes cluster heard under the same --cluster.";
    this.#count = metrics.gauge({ name: "vigil_fleet_foreign_members", help });
    this.#count.set(0);
    this.#members = new LiveMembers({ clock, profile, timedOut: () => this.#countMembers() });
  }

  /**
   * Takes a pulse; null when it names no other cluster than ours, and its sender is a stranger no longer. A stranger
   * that leaves is one until the time-out, because it may still finish writes. `isOurs` says that its name is that of a
   * member of ours.
   */
  take(pulse: ClusterPulse, isOurs: boolean): ForeignPulse | null {
    const { member, clusterUid, leaving } = pulse;
    if (clusterUid === undefined || clusterUid === this.clusterUid) {
      if (!leaving && this.#members.forget(member)) this.#countMembers();
      return null;
    }
    const problem = this.#problemWith(member, clusterUid);
    if (leaving) return { result: "left", problem };
    if (isOurs) return { result: "duplicate-name", problem };
    const result = this.#members.take(pulse);
    this.#countMembers();
    return { result, problem };
  }

  /** Whether a message's source, `service@member`, is one of them. */
  sent(source: string): boolean {
    return this.#members.size > 0 && this.#members.has(memberOf(source));
  }

  #countMembers(): void {
    this.#count.set(this.#members.size);
  }

  #problemWith(member: string, clusterUid: string): string {
    return (
      `--cluster=${this.#cluster}: ${member} on this NATS minds another Kubernetes cluster under the same name (its ` +
      `kube-system has uid ${clusterUid}, ours ${this.clusterUid}): give one of them another --cluster or NATS account`
    );
  }
}
