/** Console access by reviews of a real kube-apiserver: a token whose account goes while its review is cached. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { DelegatedAccess } from "../../services/console/delegated-access.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { type KubeApiserver, startKubeApiserver } from "../support/kube-apiserver.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { until } from "../support/until.ts";

const CACHED_MS = 10_000;

describeWithKube("delegated access on a real kube-apiserver", () => {
  let api: KubeApiserver;
  beforeAll(async () => {
    api = await startKubeApiserver();
  });
  afterAll(() => api.stop());

  const kubectl = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await api.kubectl(...args);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  };

  test("a token ends with its right and with its account, once the cache is over", async () => {
    const clock = new VirtualClock();
    const access = new DelegatedAccess({ clock, log: silentLog });
    const io = { clock: realClock(), random: systemRandom, log: silentLog, metrics: createMetrics() };
    access.reviewWith(createKube({ ...io, wire: api.wire(), profile: STANDARD_PROFILE }));
    await kubectl("create", "serviceaccount", "scraper");
    await kubectl("create", "clusterrole", "scrape", "--verb=get", "--non-resource-url=/metrics");
    const bind = ["create", "clusterrolebinding", "scrape", "--clusterrole=scrape", "--serviceaccount=default:scraper"];
    await kubectl(...bind);
    const token = await kubectl("create", "token", "scraper");
    const decided = async () => {
      const decision = await access.decide({ token, path: "/metrics" });
      return decision === "ok" ? 200 : decision.status;
    };
    const becomes = (status: number) =>
      until(`it is ${status}`, async () => {
        clock.advance(CACHED_MS);
        return (await decided()) === status;
      });
    await becomes(200);
    await kubectl("delete", "clusterrolebinding", "scrape");
    expect(await decided()).toBe(200);
    await becomes(403);
    await kubectl(...bind);
    await becomes(200);
    await kubectl("delete", "serviceaccount", "scraper");
    expect(await decided()).toBe(200);
    await becomes(401);
    await kubectl("create", "serviceaccount", "scraper");
    expect(await decided()).toBe(401);
    clock.advance(CACHED_MS);
    expect(await decided()).toBe(401);
  });
});
