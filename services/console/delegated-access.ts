/**
 * Lets the API server authorize requests to the console, as kube-controller-manager and kube-scheduler do for their
 * ports. A TokenReview names the user of a token; a SubjectAccessReview decides whether RBAC allows that user the path.
 * A request without a review is refused. Tokens are neither logged nor kept, only their keyed digests.
 */
import { createHmac, randomBytes } from "node:crypto";
import type { Clock, KubeReviews, Log, ReviewKind } from "../../protocols/ports.ts";
import { limitedLog } from "../platform/process/log.limited.ts";
import { type JsonRecord, listOf, recordOf, textOf } from "../structures/json.ts";
import { ReviewCache } from "./review-cache.ts";

/** The token and the path of a request. */
export interface AccessRequest {
  readonly token: string;
  readonly path: string;
}

/** Whether a request may be answered: `ok`, or the status to refuse it with and one line for the client. */
export type AccessDecision = "ok" | { readonly status: 401 | 403 | 503; readonly problem: string };

/** A user as a TokenReview returns it and a SubjectAccessReview expects it. */
interface ReviewedUser {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly unknown[];
  readonly extra: JsonRecord;
}

/**
 * Reviews are kept for ten seconds, whether they allow or deny (DelegatingAuthenticationOptions.CacheTTL,
 * DelegatingAuthorizationOptions.AllowCacheTTL and DenyCacheTTL).
 */
const LIMITS = { keptMs: 10_000, entriesMax: 1024, pendingMax: 64 };
/** Longest wait of a request for its reviews, queueing included. */
const REVIEW_MS_MAX = 10_000;
const LINES = { linesMax: 1, periodMs: 60_000 };
const UNAVAILABLE = {
  status: 503,
  problem:
    "the API server does not answer token reviews, see the log; the token of --listen-token-file works without it",
} as const;
const UNAUTHENTICATED = {
  status: 401,
  problem: "this console requires a token of its cluster; give one with --token-file, or as the password in a browser",
} as const;

/**
 * The path that RBAC must allow: below /vigil, because ClusterRole system:discovery lets every user get /api/* of the
 * API server. Only /metrics keeps its path, because roles for monitoring name it.
 */
function reviewedPath(path: string): string {
  return path === "/metrics" ? path : `/vigil${path}`;
}

/** Authorizes requests by the API server's reviews. */
export class DelegatedAccess {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #key = randomBytes(32);
  readonly #users: ReviewCache<ReviewedUser | null>;
  readonly #rights: ReviewCache<boolean>;
  #reviews: KubeReviews | null = null;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = clock;
    this.#log = limitedLog(log, clock, LINES);
    this.#users = new ReviewCache(clock, LIMITS);
    this.#rights = new ReviewCache(clock, LIMITS);
  }

  /** Sets the connection for reviews. Until it is set every request is refused. */
  reviewWith(reviews: KubeReviews): void {
    this.#reviews = reviews;
  }

  /** Decides about one request; never rejects. */
  async decide(request: AccessRequest): Promise<AccessDecision> {
    const { token } = request;
    if (token === "") return UNAUTHENTICATED;
    const late = Promise.withResolvers<never>();
    const timer = this.#clock.after(REVIEW_MS_MAX, () =>
      late.reject(new Error(`no review within ${REVIEW_MS_MAX} ms`)),
    );
    try {
      // A review that its request no longer waits for still counts as pending in the cache.
      return await Promise.race([this.#decided(request), late.promise]);
    } catch (error) {
      const problem = (error instanceof Error ? error.message : String(error)).replaceAll(token, "<token>");
      this.#log.warn("console requests refused: the API server does not answer token reviews", { problem });
      return UNAVAILABLE;
    } finally {
      timer.cancel();
    }
  }

  async #decided(request: AccessRequest): Promise<AccessDecision> {
    const { token } = request;
    const path = reviewedPath(request.path);
    const user = await this.#users.get(this.#digest(token), () => this.#userOf(token));
    if (user === null) return UNAUTHENTICATED;
    const isAllowed = await this.#rights.get(this.#digest(JSON.stringify([user, path])), () => this.#may(user, path));
    return isAllowed ? "ok" : { status: 403, problem: `${user.user} lacks the right to get nonResourceURL ${path}` };
  }

  async #userOf(token: string): Promise<ReviewedUser | null> {
    const { authenticated, user } = await this.#review("TokenReview", { token });
    const { username, uid, groups, extra } = recordOf(user);
    const name = textOf(username);
    if (authenticated !== true || name === null) return null;
    const named = textOf(uid);
    return { user: name, ...(named === null ? {} : { uid: named }), groups: listOf(groups), extra: recordOf(extra) };
  }

  async #may(user: ReviewedUser, path: string): Promise<boolean> {
    const spec = { ...user, nonResourceAttributes: { path, verb: "get" } };
    const { allowed, denied } = await this.#review("SubjectAccessReview", spec);
    return allowed === true && denied !== true;
  }

  #review(kind: ReviewKind, spec: object): Promise<JsonRecord> {
    const reviews = this.#reviews;
    if (reviews === null) return Promise.reject(new Error("no answer since this process started"));
    return new Promise((resolve, reject) => {
      reviews.review(kind, spec, (reply) => {
        if (reply.outcome === "ok") resolve(reply.status);
        else reject(new Error(`${kind}: ${reply.detail}`));
      });
    });
  }

  #digest(text: string): string {
    return createHmac("sha256", this.#key).update(text).digest("base64");
  }
}
