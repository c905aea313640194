/** `vigil run` when one of its services throws, once or repeatedly. The fault is injected into the running program. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubeconfigOf } from "../../services/cli/apiserver/served-api.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { type HttpFront, listen } from "../../services/sandbox/apiserver/http/http-front.ts";
import { freePort } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";

const FOLDER = mkdtempSync(join(tmpdir(), "vigil-crash-"));
const KUBECONFIG = join(FOLDER, "kubeconfig");

/** Node's flags that make the zone service throw at its first starts, this many times, and then do nothing. */
function zoneFails(times: number): string[] {
  const start = `() => { if (left-- > 0) throw new Error("broken"); return () => {}; }`;
  const service = `let left = ${times}; export const zoneService = ${start}; export const soleZoneService = zoneService;`;
  const load = `(url, context, next) => url.endsWith("/zone.service.ts")
    ? { format: "module", shortCircuit: true, source: ${JSON.stringify(service)} } : next(url, context)`;
  const hook = `import { registerHooks } from "node:module"; registerHooks({ load: ${load} });`;
  return [`--import=data:text/javascript,${encodeURIComponent(hook)}`];
}

describe("a service of vigil run", () => {
  let front: HttpFront;
  beforeAll(async () => {
    front = await listen(new ApiServer({ clock: realClock(), random: systemRandom }), { port: 0 });
    writeFileSync(KUBECONFIG, kubeconfigOf("c", front.url));
  });
  afterAll(async () => {
    await front.close();
    rmSync(FOLDER, { recursive: true });
  });

  const run = (times: number, ...flags: string[]) =>
    new VigilProcess(["run", `--kubeconfig=${KUBECONFIG}`, "--log-format=json", ...flags], {
      nodeFlags: zoneFails(times),
    });

  test("that fails once is logged, counted and restarted", async () => {
    const port = await freePort();
    const vigil = run(1, `--listen=127.0.0.1:${port}`);
    await vigil.untilLogged("zone failed and restarts from observation");
    await until(
      "it is ready",
      async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.ok === true,
    );
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(metrics).toContain('vigil_service_restarts_total{service="zone"} 1');
    const [told] = vigil.logged.filter(({ level }) => level === "error");
    expect(JSON.stringify(told)).toContain("broken");
    vigil.signal("SIGTERM");
    expect(await vigil.exited()).toBe(0);
  });

  test("that fails repeatedly ends it with 1 and a reason", async () => {
    const vigil = run(1000);
    expect(await vigil.exited()).toBe(1);
    expect(vigil.err.trim().split("\n").at(-1)).toBe("vigil: zone failed 5 times within 60 s; the last: Error: broken");
  });
});
