/** Which client wrote what beside upstream's real controllers, by the field managers of a real API server. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { ComparedNode, ComparedStep } from "../../protocols/ledger-reader.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { until } from "../support/until.ts";
import { BesideCluster } from "./beside-cluster.ts";

const ZONES = { "a-0": "a", "a-1": "a", "a-2": "a", "b-0": "b", "b-1": "b", "b-2": "b" };
const WITHIN = { withinMs: 60_000, everyMs: 100 };
vi.setConfig({ testTimeout: 120_000 });

describeWithKube("a silent node under Vigil beside upstream", () => {
  let cluster: BesideCluster;
  let compared: ComparedNode | undefined;
  const sidesOf = ({ vigil, others }: ComparedStep) => [vigil !== null, others !== null];

  beforeAll(async () => {
    cluster = await BesideCluster.start(ZONES);
    await cluster.startUpstream();
    await cluster.isWell(...Object.keys(ZONES));
    await cluster.startVigil();
    cluster.silence("a-0");
    await cluster.shows("a-0 NoExecute", "unreachable");
    await until(
      "both steps have an author",
      async () => {
        const { nodes } = await cluster.comparison();
        compared = nodes.find(({ node }) => node === "a-0");
        return compared?.unknown.why !== undefined && compared.noExecute.others !== null;
      },
      WITHIN,
    );
  });
  afterAll(() => cluster.stop());

  test("was found Unknown by Vigil, and tainted by upstream", () => {
    expect(compared === undefined ? null : [sidesOf(compared.unknown), sidesOf(compared.noExecute)]).toEqual([
      [true, false],
      [false, true],
    ]);
  });

  test("is no difference of another side on the page", async () => {
    expect(await cluster.compare()).toMatch(/Ready=Unknown +0 +1 +0/);
  });
});
