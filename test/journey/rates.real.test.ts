/** The eviction rate of a node policy by `vigil run` on a real kube-apiserver, with `kill -9` in the middle. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mostInAMinute } from "../pod-writer/rates/evictions-per-minute.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { freePort } from "../support/nats-server.ts";
import { Stage, vigilWith } from "../support/stage.ts";
import { until } from "../support/until.ts";
import { EvictionRecord } from "./eviction-record.ts";

const CONFIG = `
policies:
  - name: gpu
    spec:
      selector: { matchLabels: { topology.kubernetes.io/zone: gpu } }
      evictions: { method: Evict, maxPerMinute: 2 }
`;
const PODS = ["pod-0", "pod-1", "pod-2", "pod-3"];
const MAINTENANCE = { key: "example.com/maintenance", effect: "NoExecute" };
/** A new owner of the rate waits for 90 s. */
const WITHIN = { withinMs: 150_000, everyMs: 50 };

interface Waiting {
  readonly next: readonly { readonly name: string; readonly waits?: object }[];
}

describeWithKube("the eviction rate of a policy on a real kube-apiserver", () => {
  const folder = mkdtempSync(join(tmpdir(), "vigil-rates-"));
  let stage: Stage;
  let record: EvictionRecord;
  let console: string;

  const evicted = () => PODS.filter((pod) => record.deletedAt.has(pod)).length;
  const waiting = async () => ((await (await fetch(`${console}/api/evictions`)).json()) as Waiting).next;

  beforeAll(async () => {
    const listen = `127.0.0.1:${await freePort()}`;
    console = `http://${listen}`;
    const config = join(folder, "vigil.yaml");
    writeFileSync(config, CONFIG);
    stage = await Stage.open(vigilWith({ listen, config }));
    record = new EvictionRecord(stage.kube, Date.now);
    stage.register({ "gpu-0": "gpu", "gpu-1": "gpu", other: "other" });
    await until("the nodes are registered", () => record.nodes.size === 3, WITHIN);
    await stage.create([
      ...PODS.map((name) => ({ name, node: "gpu-0", tolerations: [] })),
      { name: "free", node: "other", tolerations: [] },
    ]);
    await stage.specify("gpu-0", { taints: [MAINTENANCE] });
    await stage.specify("other", { taints: [MAINTENANCE] });
    await stage.restart();
  });

  afterAll(async () => {
    record.stop();
    await stage.close();
    rmSync(folder, { recursive: true });
  });

  test("is kept over kill -9, and delays no other pod", async () => {
    await until("the pod without a policy has gone", () => record.deletedAt.has("free"), WITHIN);
    expect(evicted()).toBe(0);
    await until("two pods have gone", () => evicted() === 2, WITHIN);
    await until(
      "the others wait with their place",
      async () => {
        const places = (await waiting()).map(({ waits }) => waits);
        return places.length === 2 && places.every((waits) => waits !== undefined);
      },
      WITHIN,
    );
    const field = "evictions.maxPerMinute";
    expect((await waiting()).map(({ waits }) => waits)).toMatchObject([
      { policy: "gpu", field, place: 1, waiting: 2, expectedAt: expect.any(Number) },
      { policy: "gpu", field, place: 2, waiting: 2, expectedAt: expect.any(Number) },
    ]);
    await stage.restart();
    await until("all pods have gone", () => evicted() === 4, WITHIN);
    const instants = PODS.map((pod) => ({ atMs: record.deletedAt.get(pod) ?? 0 }));
    expect(mostInAMinute(instants)).toBe(2);
  }, 400_000);
});
