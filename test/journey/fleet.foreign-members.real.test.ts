/** Two Kubernetes clusters, one nats-server, one --cluster: the second install is refused before it acts. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kubeconfigOf } from "../../services/cli/apiserver/served-api.ts";
import { runCommandLine } from "../../services/cli/command-line.ts";
import type { MemberReport } from "../../services/cli/get/fleet-members.ts";
import { connectNats } from "../../services/platform/bus/nats.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { type HttpFront, listen } from "../../services/sandbox/apiserver/http/http-front.ts";
import { fakeHost } from "../cli/fake-host.ts";
import { FaultyApiServer } from "../support/faulty-apiserver.ts";
import { describeWithNats } from "../support/nats-programs.ts";
import { type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";

describeWithNats("two Kubernetes clusters on one NATS", () => {
  const folder = mkdtempSync(join(tmpdir(), "vigil-strangers-"));
  const apis = { east: newApi(), west: newApi() };
  const fronts: HttpFront[] = [];
  const running: VigilProcess[] = [];
  let nats: NatsServer;
  beforeAll(async () => {
    nats = await startNatsServer();
    for (const [name, api] of Object.entries(apis)) {
      const front = await listen(api, { port: 0 });
      fronts.push(front);
      writeFileSync(join(folder, name), kubeconfigOf(name, front.url));
    }
  });
  afterAll(async () => {
    for (const vigil of running) vigil.signal("SIGKILL");
    for (const front of fronts) await front.close();
    await nats.stop();
    rmSync(folder, { recursive: true });
  });

  const start = (where: keyof typeof apis, member: string, ...flags: string[]) => {
    const common = [`--kubeconfig=${join(folder, where)}`, `--nats=${nats.url}`, `--member=${member}`];
    const vigil = new VigilProcess(["run", "--log-format=json", ...common, ...flags]);
    running.push(vigil);
    return vigil;
  };
  const fleet = async (cluster: string): Promise<MemberReport[]> => {
    const host = fakeHost();
    const flags = [`--nats=${nats.url}`, `--cluster=${cluster}`, "--output=json"];
    await runCommandLine(["get", "fleet", ...flags], host);
    return host.out() === "" ? [] : JSON.parse(host.out()).items;
  };
  const owns = (cluster: string, members: string) =>
    until(`${members} own ${cluster}`, async () => {
      const heard = await fleet(cluster);
      return heard.map(({ member }) => member).join() === members && heard.every(({ shards }) => shards > 0);
    });

  test("the second with the same --cluster exits with 1 and one line; another works", async () => {
    start("east", "east-1", "--cluster=prod");
    await owns("prod", "east-1");
    const said: string[] = [];
    const transport = await connectNats({ servers: [nats.url], name: "tap", clock: realClock(), ...SILENT_PORTS });
    transport.subscribe("vigil.v1.prod.>", (payload) => said.push(new TextDecoder().decode(payload)));
    await transport.flush();
    const refused = start("west", "west-1", "--cluster=prod");
    expect(await refused.exited()).toBe(1);
    await until("more of the first is heard", () => said.length > 0);
    await transport.close();
    expect(said.filter((text) => text.includes("west-1"))).toEqual([]);
    const [east, west] = [uidOf(apis.east), uidOf(apis.west)];
    const line =
      `vigil: --cluster=prod: east-1 on this NATS serves another Kubernetes cluster under the same name (its kube-system ` +
      `has uid ${east}, ours ${west}): give one of them another --cluster or NATS account`;
    expect(
      refused.err
        .trimEnd()
        .split("\n")
        .filter((text) => !text.startsWith("{")),
    ).toEqual([line]);
    expect(refused.logged.map(({ message }) => message)).not.toContain("running");
    expect((await fleet("prod")).map(({ member }) => member)).toEqual(["east-1"]);
    start("west", "west-1", "--cluster=other");
    await owns("other", "west-1");
  });

  test("a second process of the same cluster joins, even without the right to its uid", async () => {
    start("east", "east-2", "--cluster=both");
    await owns("both", "east-2");
    const mayNot = { kind: "status", code: 403, message: "no" } as const;
    const allow = apis.east.faults.add({ fault: mayNot, when: ({ name }) => name === "kube-system" });
    const older = start("east", "east-3", "--cluster=both");
    await older.untilLogged("cannot tell this Kubernetes cluster from another on the same NATS");
    await owns("both", "east-2,east-3");
    allow();
    start("east", "east-4", "--cluster=both");
    await owns("both", "east-2,east-3,east-4");
  });
});

const SILENT_PORTS = { log: silentLog, metrics: createMetrics() };

function newApi(): FaultyApiServer {
  return new FaultyApiServer({ clock: realClock(), random: systemRandom });
}

function uidOf(api: FaultyApiServer): string | undefined {
  return api.store.collection("namespaces").get("", "kube-system")?.uid;
}
