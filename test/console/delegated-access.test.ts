/** Console access by the API server's reviews: their specs, their cache, and what happens without an answer. */

import { afterEach, describe, expect, test } from "vitest";
import type { KubeReviews, ReviewKind, ReviewReply } from "../../protocols/ports.ts";
import { type RunningConsole, startConsole } from "../../services/console/console.http.ts";
import { DelegatedAccess } from "../../services/console/delegated-access.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { recordingLog } from "../support/recording-log.ts";

const USER = { username: "prometheus", uid: "u-1", groups: ["monitoring"], extra: { pod: ["p-0"] } };
const AUTHENTICATED: ReviewReply = { outcome: "ok", status: { authenticated: true, user: USER } };
const ALLOWED: ReviewReply = { outcome: "ok", status: { allowed: true } };
const METRICS = { token: "secret-token", path: "/metrics" };

type Reviewed = { readonly kind: ReviewKind; readonly spec: object; readonly done: (reply: ReviewReply) => void };

/** Reviews that a test answers by hand, or by kind. */
function stage(answers: Partial<Record<ReviewKind, ReviewReply>> = {}) {
  const [clock, log] = [new VirtualClock(), recordingLog()];
  const reviewed: Reviewed[] = [];
  const reviews: KubeReviews = {
    review(kind, spec, done) {
      reviewed.push({ kind, spec, done });
      const answer = answers[kind];
      if (answer !== undefined) queueMicrotask(() => done(answer));
    },
  };
  const access = new DelegatedAccess({ clock, log });
  access.reviewWith(reviews);
  return { clock, log, access, reviewed, kinds: () => reviewed.map(({ kind }) => kind) };
}

const settled = () => new Promise(setImmediate);

describe("a request with a token", () => {
  test("is answered if the API knows its user and allows the path", async () => {
    const { access, reviewed } = stage({ TokenReview: AUTHENTICATED, SubjectAccessReview: ALLOWED });
    expect(await access.decide(METRICS)).toBe("ok");
    expect(reviewed.map(({ kind, spec }) => ({ kind, spec }))).toEqual([
      { kind: "TokenReview", spec: { token: "secret-token" } },
      {
        kind: "SubjectAccessReview",
        spec: {
          user: "prometheus",
          uid: "u-1",
          groups: ["monitoring"],
          extra: { pod: ["p-0"] },
          nonResourceAttributes: { path: "/metrics", verb: "get" },
        },
      },
    ]);
  });

  test.each([
    ["the user is not allowed", { allowed: false }],
    ["the path is denied as well as allowed", { allowed: true, denied: true }],
    ["the answer is empty", {}],
    ["the answer has a wrong type", { allowed: "true" }],
  ])("is 403 when %s", async (_what, status) => {
    const { access } = stage({ TokenReview: AUTHENTICATED, SubjectAccessReview: { outcome: "ok", status } });
    expect(await access.decide(METRICS)).toMatchObject({ status: 403, problem: expect.stringContaining("/metrics") });
  });

  test.each([
    ["is not known", { authenticated: false, error: "invalid bearer token" }],
    ["has no user", { authenticated: true }],
    ["has a user without a name", { authenticated: true, user: { username: "" } }],
    ["got an empty answer", {}],
  ])("is 401 without an access review when it %s", async (_what, status) => {
    const { access, kinds } = stage({ TokenReview: { outcome: "ok", status } });
    expect(await access.decide(METRICS)).toMatchObject({ status: 401 });
    expect(kinds()).toEqual(["TokenReview"]);
  });

  test("is 401 without a review when the token is empty", async () => {
    const { access, kinds } = stage();
    expect(await access.decide({ token: "", path: "/metrics" })).toMatchObject({ status: 401 });
    expect(kinds()).toEqual([]);
  });
});

describe("without an answer of the API", () => {
  const DENIED: ReviewReply = { outcome: "denied", detail: "403: cannot create tokenreviews for secret-token" };

  test.each([
    ["unreachable", { TokenReview: { outcome: "failed", detail: "connect ECONNREFUSED" } as ReviewReply }],
    ["TokenReview forbidden", { TokenReview: DENIED }],
    ["SubjectAccessReview forbidden", { TokenReview: AUTHENTICATED, SubjectAccessReview: DENIED }],
  ])("every request is 503; one log line has no token: %s", async (_what, answers) => {
    const { access, log } = stage(answers);
    for (let count = 0; count < 3; count++) expect(await access.decide(METRICS)).toMatchObject({ status: 503 });
    expect(log.lines.length).toBe(1);
    expect(JSON.stringify(log.lines)).not.toContain("secret-token");
  });

  test("no failure is cached: the next request is reviewed", async () => {
    const { access, reviewed } = stage();
    const first = access.decide(METRICS);
    reviewed[0]?.done({ outcome: "failed", detail: "gone" });
    expect(await first).toMatchObject({ status: 503 });
    void access.decide(METRICS);
    expect(reviewed.length).toBe(2);
  });

  test("a request waits ten seconds at most", async () => {
    const { access, clock } = stage();
    const decision = access.decide(METRICS);
    clock.advance(10_000);
    expect(await decision).toMatchObject({ status: 503 });
  });

  test("every request is 503 before it is connected", async () => {
    const access = new DelegatedAccess({ clock: new VirtualClock(), log: silentLog });
    expect(await access.decide(METRICS)).toMatchObject({ status: 503 });
  });
});

describe("answers", () => {
  test("are cached for ten seconds, whether they allow or deny", async () => {
    for (const authenticated of [true, false]) {
      const TokenReview: ReviewReply = { outcome: "ok", status: { authenticated, user: USER } };
      const { access, clock, kinds } = stage({ TokenReview, SubjectAccessReview: ALLOWED });
      await access.decide(METRICS);
      const asked = kinds().length;
      clock.advance(9_999);
      await access.decide(METRICS);
      expect(kinds().length).toBe(asked);
      clock.advance(1);
      await access.decide(METRICS);
      expect(kinds().length).toBe(2 * asked);
    }
  });

  test.each([
    ["/metrics", "/metrics"],
    ["/", "/vigil/"],
    ["/api/overview", "/vigil/api/overview"],
  ])("to who may get %s come from the right to get %s", async (path, reviewed) => {
    const { access, reviewed: asked } = stage({ TokenReview: AUTHENTICATED, SubjectAccessReview: ALLOWED });
    await access.decide({ ...METRICS, path });
    expect(asked[1]?.spec).toMatchObject({ nonResourceAttributes: { path: reviewed, verb: "get" } });
  });

  test("of one path allow no other", async () => {
    const { access, kinds } = stage({ TokenReview: AUTHENTICATED, SubjectAccessReview: ALLOWED });
    await access.decide(METRICS);
    await access.decide({ ...METRICS, path: "/api/overview" });
    expect(kinds()).toEqual(["TokenReview", "SubjectAccessReview", "SubjectAccessReview"]);
  });

  test("that are pending are shared by equal requests", async () => {
    const { access, reviewed, kinds } = stage({ SubjectAccessReview: ALLOWED });
    const decisions = Promise.all(Array.from({ length: 50 }, () => access.decide(METRICS)));
    expect(kinds()).toEqual(["TokenReview"]);
    reviewed[0]?.done(AUTHENTICATED);
    expect(new Set(await decisions)).toEqual(new Set(["ok"]));
    expect(kinds()).toEqual(["TokenReview", "SubjectAccessReview"]);
  });

  test("are pending at most 64 times, also when their requests have timed out", async () => {
    const { access, clock, kinds } = stage();
    const flood = (from: number) =>
      Promise.all(Array.from({ length: 100 }, (_, index) => access.decide({ ...METRICS, token: `t-${from + index}` })));
    const first = flood(0);
    await settled();
    clock.advance(10_000);
    expect(new Set((await first).map((decision) => (decision === "ok" ? 200 : decision.status)))).toEqual(
      new Set([503]),
    );
    await flood(100);
    expect(kinds().length).toBe(64);
  });

  test("are kept for a bounded number of tokens", async () => {
    const { access, kinds } = stage({ TokenReview: { outcome: "ok", status: { authenticated: false } } });
    for (let count = 0; count < 1025; count++) await access.decide({ ...METRICS, token: `t-${count}` });
    await access.decide({ ...METRICS, token: "t-0" });
    expect(kinds().length).toBe(1026);
  });
});

describe("a delegating console", () => {
  const running: RunningConsole[] = [];
  afterEach(async () => {
    for (const each of running.splice(0)) await each.close();
  });

  test("needs a token but for probes, as bearer token or password", async () => {
    const { access } = stage({ TokenReview: AUTHENTICATED, SubjectAccessReview: ALLOWED });
    const io = { clock: realClock(), log: silentLog, metrics: createMetrics() };
    const served = await startConsole({ host: "127.0.0.1", port: 0, ...io, access });
    running.push(served);
    const statusOf = async (path: string, headers = {}) => (await fetch(`${served.url}${path}`, { headers })).status;
    expect(await Promise.all(["/livez", "/healthz"].map((path) => statusOf(path)))).toEqual([200, 200]);
    expect(await Promise.all(["/metrics", "/", "/api/overview"].map((path) => statusOf(path)))).toEqual([
      401, 401, 401,
    ]);
    expect(await statusOf("/metrics", { authorization: "Bearer secret-token" })).toBe(200);
    const password = Buffer.from("anybody:secret-token").toString("base64");
    expect(await statusOf("/metrics", { authorization: `Basic ${password}` })).toBe(200);
  });

  test("accepts the token of its file without a review", async () => {
    const { access, kinds } = stage();
    const io = { clock: realClock(), log: silentLog, metrics: createMetrics() };
    const token = () => "a-token-of-22-letters";
    const served = await startConsole({ host: "127.0.0.1", port: 0, ...io, access, token });
    running.push(served);
    const headers = { authorization: "Bearer a-token-of-22-letters" };
    expect((await fetch(`${served.url}/metrics`, { headers })).status).toBe(200);
    expect(kinds()).toEqual([]);
  });
});
