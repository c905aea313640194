/**
 * Keeps the services that this member offers up to date with its reachability of the API server and with the offers of
 * the other members. offer.policy.ts decides.
 */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { Io, ServiceName, Stop, Timer } from "../../../protocols/ports.ts";
import type { ApiReachability, ReachabilityReport } from "../kube/transport/reachability.ts";
import type { LiveMembers } from "./live-members.ts";
import { OFFERED, type Offer, offerAfter, offerDueMs, servicesOfApi } from "./offer.policy.ts";

/** The context of one member's offers. */
export interface OffersOptions extends Pick<Io, "clock" | "log"> {
  readonly member: string;
  readonly services: readonly ServiceName[];
  readonly members: Pick<LiveMembers, "running" | "able">;
  /** Whether this process reaches the API server; null when that is not measured. */
  readonly reachability: Pick<ApiReachability, "report" | "follow"> | null;
  /** Called when the offers need a review although no pulse came. */
  readonly due: () => void;
}

/** The fields of a pulse that describe a member's services. */
export type OfferedServices = Pick<BodyOf<"pulse.member">, "services" | "unable" | "withheld">;

const REACHABLE: ReachabilityReport = { able: true, isFailing: false, failingForMs: 0, problem: "" };

/** The offers of one member. A member without a measured reachability always offers everything it runs. */
export class Offers {
  readonly #options: OffersOptions;
  readonly #offers: Map<ServiceName, Offer>;
  readonly #stopFollowing: Stop;
  #timer: Timer | null = null;
  #before = { withheld: "", able: true };

  constructor(options: OffersOptions) {
    this.#options = options;
    const { services, reachability, due } = options;
    this.#offers = new Map(servicesOfApi(services).map((service) => [service, OFFERED]));
    this.#stopFollowing = reachability?.follow(due) ?? (() => {});
  }

  has(service: ServiceName): boolean {
    return this.#offers.get(service)?.isOffered !== false;
  }

  pulseFields(): OfferedServices {
    const { services, clock } = this.#options;
    const { able, failingForMs } = this.#report();
    const withheld = services.filter((service) => !this.has(service));
    const unable = { services: [...this.#offers.keys()], since: Math.round(clock.wallMs() - failingForMs) };
    return {
      services: services.filter((service) => this.has(service)),
      ...(able || unable.services.length === 0 ? {} : { unable }),
      ...(withheld.length === 0 ? {} : { withheld }),
    };
  }

  /** Reviews the offers; true when they, or the ability to fulfil them, have changed. */
  review(): boolean {
    const { clock, log, services } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const [service, offer] of this.#offers) this.#offers.set(service, this.#reviewed(service, offer, nowMs));
    this.#armReview(nowMs);
    const withheld = services.filter((service) => !this.has(service)).join();
    const { able } = this.#report();
    const before = this.#before;
    this.#before = { withheld, able };
    if (withheld !== before.withheld) {
      const message = withheld === "" ? "offers every service again" : "leaves services to members that reach the API";
      log.info(message, { withheld });
    }
    return withheld !== before.withheld || able !== before.able;
  }

  stop(): void {
    this.#stopFollowing();
    this.#timer?.cancel();
  }

  #report(): ReachabilityReport {
    return this.#options.reachability?.report() ?? REACHABLE;
  }

  #reviewed(service: ServiceName, offer: Offer, nowMs: number): Offer {
    const { members, member } = this.#options;
    const { able: isAble, isFailing } = this.#report();
    const othersOffer = members.running(service).some((other) => other !== member);
    const othersAble = members.able(service).some((other) => other !== member);
    return offerAfter(offer, { isAble, isFailing, othersOffer, othersAble }, nowMs);
  }

  #armReview(nowMs: number): void {
    const { clock, due } = this.#options;
    this.#timer?.cancel();
    const dues = [...this.#offers.values()].map(offerDueMs).filter((dueMs) => dueMs !== null && dueMs > nowMs);
    this.#timer = dues.length === 0 ? null : clock.after(Math.min(...(dues as number[])) - nowMs, due);
  }
}
