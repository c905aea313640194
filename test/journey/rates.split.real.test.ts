/**
 * The eviction rate of a node policy by two `vigil run`, each with a NATS server of its own as on a split bus, on one
 * real kube-apiserver. Then the one that evicts is stopped with SIGTERM.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mostInAMinute } from "../pod-writer/rates/evictions-per-minute.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { freePort, type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { Stage } from "../support/stage.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { EvictionRecord } from "./eviction-record.ts";

const CONFIG = `
policies:
  - name: gpu
    spec:
      selector: { matchLabels: { topology.kubernetes.io/zone: gpu } }
      evictions: { method: Evict, maxPerMinute: 2 }
`;
const PODS = ["pod-0", "pod-1", "pod-2", "pod-3", "pod-4", "pod-5"];
const MAINTENANCE = { key: "example.com/maintenance", effect: "NoExecute" };
/** The first owner of the rate waits for 90 s. */
const WITHIN = { withinMs: 150_000, everyMs: 50 };
const HOLDS = /^vigil_limits_lease 1$/m;

/** One process, on a NATS server of its own. */
interface Side {
  readonly nats: NatsServer;
  readonly console: string;
  readonly process: VigilProcess;
}

describeWithKube("the eviction rate of a policy on a split bus and a real kube-apiserver", () => {
  const folder = mkdtempSync(join(tmpdir(), "vigil-rates-split-"));
  const config = join(folder, "vigil.yaml");
  let stage: Stage;
  let record: EvictionRecord;
  let sides: readonly Side[] = [];

  const evicted = () => PODS.filter((pod) => record.deletedAt.has(pod)).length;
  const textOf = async (url: string) => (await fetch(url)).text();
  const holders = async () => {
    const texts = await Promise.all(sides.map(({ console }) => textOf(`${console}/metrics`)));
    return texts.map((text) => HOLDS.test(text));
  };

  const begin = async (kubeconfig: string, member: string): Promise<Side> => {
    const nats = await startNatsServer();
    const listen = `127.0.0.1:${await freePort()}`;
    const flags = [`--config=${config}`, `--listen=${listen}`, `--member=${member}`, `--nats=${nats.url}`];
    const process = new VigilProcess(["run", "--log-format=json", `--kubeconfig=${kubeconfig}`, ...flags]);
    await process.untilLogged("running");
    return { nats, process, console: `http://${listen}` };
  };

  beforeAll(async () => {
    writeFileSync(config, CONFIG);
    stage = await Stage.open(async (kubeconfig) => {
      sides = await Promise.all(["left", "right"].map((member) => begin(kubeconfig, member)));
      const kill = async () => {
        for (const { process } of sides) process.signal("SIGKILL");
        await Promise.all(sides.map(({ process }) => process.exited()));
      };
      return { kill, log: () => sides.map(({ process }) => process.err).join("\n") };
    });
    record = new EvictionRecord(stage.kube, Date.now);
    stage.register({ "gpu-0": "gpu", "gpu-1": "gpu" });
    await until("the nodes are registered", () => record.nodes.size === 2, WITHIN);
    await stage.create(PODS.map((name) => ({ name, node: "gpu-0", tolerations: [] })));
    await stage.specify("gpu-0", { taints: [MAINTENANCE] });
    await stage.restart();
  });

  afterAll(async () => {
    record.stop();
    await stage.close();
    await Promise.all(sides.map(({ nats }) => nats.stop()));
    rmSync(folder, { recursive: true });
  });

  test("is kept by the holder of the Lease, which hands over when it stops", async () => {
    await until("two pods have gone", () => evicted() === 2, WITHIN);
    const isHolder = await holders();
    expect(isHolder.filter(Boolean)).toHaveLength(1);
    const [stopped, other] = isHolder[0] ? sides : sides.toReversed();
    if (stopped === undefined || other === undefined) throw new Error("there are two sides");
    const member = isHolder[0] ? "left" : "right";
    const waiting = PODS.find((pod) => !record.deletedAt.has(pod));
    const explained = await textOf(`${other.console}/api/explain/pod/default/${waiting}`);
    expect(explained).toContain(`${member} holds the Lease kube-system/vigil-limits`);
    stopped.process.signal("SIGTERM");
    expect(await stopped.process.exited()).toBe(0);
    const firstAt = Math.max(...record.deletedAt.values());
    // No pod waits for 90 s again: the next two are evicted as soon as the first two evictions are a minute old.
    await until("two more have gone", () => evicted() === 4, WITHIN);
    const nextAt = Math.min(...[...record.deletedAt.values()].filter((at) => at > firstAt));
    expect(nextAt - firstAt).toBeLessThan(85_000);
    await until("all pods have gone", () => evicted() === 6, WITHIN);
    expect(mostInAMinute(PODS.map((pod) => ({ atMs: record.deletedAt.get(pod) ?? 0 })))).toBe(2);
  }, 500_000);
});
