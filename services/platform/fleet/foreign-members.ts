/** Recognizes and counts processes that pulse on the same subjects for another Kubernetes cluster. */
import { memberOf } from "../../../protocols/frame.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { Io, Metrics } from "../../../protocols/ports.ts";
import { LiveMembers, type NumberedPulse, type PulseProfile, type PulseResult } from "./live-members.ts";

/** The context of the detection. */
export interface ForeignMembersOptions extends Pick<Io, "clock" | "metrics"> {
  readonly profile: PulseProfile;
  /** Name of the Kubernetes cluster in subjects. */
  readonly cluster: string;
  /** The uid of namespace kube-system at our API server. */
  readonly clusterUid: string;
}

/** What the pulse of a foreign member changed, and the problem in one line. */
export interface ForeignPulse {
  readonly result: PulseResult;
  readonly problem: string;
}

/** A pulse, with the Kubernetes cluster that it names. */
export type ClusterPulse = NumberedPulse & Pick<BodyOf<"pulse.member">, "clusterUid">;

/**
 * The members of other Kubernetes clusters that pulsed within the time-out, at most fleetMembersMax. A member that
 * names no cluster is not foreign, nor is a known member of ours whose name appears with another cluster: otherwise one
 * forged pulse would exclude it.
 */
export class ForeignMembers {
  readonly clusterUid: string;
  readonly #cluster: string;
  readonly #members: LiveMembers;
  readonly #count: ReturnType<Metrics["gauge"]>;

  constructor({ clock, metrics, profile, cluster, clusterUid }: ForeignMembersOptions) {
    this.clusterUid = clusterUid;
    this.#cluster = cluster;
    const help = "Processes of another Kubernetes cluster that pulse under the same --cluster.";
    this.#count = metrics.gauge({ name: "vigil_fleet_foreign_members", help });
    this.#count.set(0);
    this.#members = new LiveMembers({ clock, profile, timedOut: () => this.#countMembers() });
  }

  /**
   * Handles a pulse; null when it names no foreign cluster, which also ends its sender's time as a foreign member. A
   * foreign member that leaves counts until the time-out, because it may still finish writes. `isOurs` says whether a
   * member of ours has that name.
   */
  onPulse(pulse: ClusterPulse, isOurs: boolean): ForeignPulse | null {
    const { member, clusterUid, leaving } = pulse;
    if (clusterUid === undefined || clusterUid === this.clusterUid) {
      if (!leaving && this.#members.forget(member)) this.#countMembers();
      return null;
    }
    const problem = this.#problemWith(member, clusterUid);
    if (leaving) return { result: "left", problem };
    if (isOurs) return { result: "duplicate-name", problem };
    const result = this.#members.onPulse(pulse);
    this.#countMembers();
    return { result, problem };
  }

  /** Whether a foreign member sent a message; `source` is `service@member`. */
  sent(source: string): boolean {
    return this.#members.size > 0 && this.#members.has(memberOf(source));
  }

  #countMembers(): void {
    this.#count.set(this.#members.size);
  }

  #problemWith(member: string, clusterUid: string): string {
    return (
      `--cluster=${this.#cluster}: ${member} on this NATS serves another Kubernetes cluster under the same name (its ` +
      `kube-system has uid ${clusterUid}, ours ${this.clusterUid}): give one of them another --cluster or NATS account`
    );
  }
}
