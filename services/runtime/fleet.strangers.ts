/**
 * The members of another Kubernetes cluster that speak under this one's name. It tells them from ours and counts them;
 * what is to follow is decided by who hears them.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import type { Clock, Metrics } from "../../protocols/ports.ts";
import { HeardMembers, type Hearing, type PulseProfile } from "./fleet.members.ts";

/** What strangers are told by. */
export interface StrangersOptions {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly profile: PulseProfile;
  /** Name of the Kubernetes cluster in subjects. */
  readonly cluster: string;
  /** The uid of namespace kube-system at our API server. */
  readonly clusterUid: string;
}

/** A stranger's pulse: what it changes in what is known of its sender, and the fault in one line. */
export interface StrangerPulse {
  readonly hearing: Hearing | "left";
  readonly problem: string;
}

/** Who has pulsed for another Kubernetes cluster within the time-out. A member that names none is no stranger. */
export class Strangers {
  readonly clusterUid: string;
  readonly #cluster: string;
  readonly #members: HeardMembers;
  readonly #count: ReturnType<Metrics["gauge"]>;

  constructor({ clock, metrics, profile, cluster, clusterUid }: StrangersOptions) {
    this.clusterUid = clusterUid;
    this.#cluster = cluster;
    const help = "Processes of another Kubernetes cluster heard under the same --cluster.";
    this.#count = metrics.gauge({ name: "vigil_fleet_strangers", help });
    this.#count.set(0);
    this.#members = new HeardMembers({ clock, profile, silent: () => this.#tell() });
  }

  /**
   * Takes a pulse; null when its sender is none. One that leaves is one until the time-out, because it may still finish
   * writes.
   */
  hear(pulse: BodyOf<"pulse.member">): StrangerPulse | null {
    const { member, clusterUid, leaving } = pulse;
    if (clusterUid === undefined || clusterUid === this.clusterUid) return null;
    const hearing = leaving ? "left" : this.#members.hear(member, pulse);
    this.#tell();
    return { hearing, problem: this.#problemWith(member, clusterUid) };
  }

  /** Whether a message's source, `service@member`, is one of them. */
  sent(source: string): boolean {
    return this.#members.size > 0 && this.#members.has(source.slice(source.indexOf("@") + 1));
  }

  #tell(): void {
    this.#count.set(this.#members.size);
  }

  #problemWith(member: string, clusterUid: string): string {
    return (
      `--cluster=${this.#cluster}: ${member} on this NATS minds another Kubernetes cluster under the same name (its ` +
      `kube-system has uid ${clusterUid}, ours ${this.clusterUid}): give one of them another --cluster or NATS account`
    );
  }
}
