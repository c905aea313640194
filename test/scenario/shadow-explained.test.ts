/** What explain and the tables say in shadow mode, where nothing is written: what would be, and nothing untrue. */
import { expect, test } from "vitest";
import type { LedgerReader } from "../../protocols/ledger-reader.ts";
import { startLedger } from "../../services/ledger/ledger.service.ts";
import { readOnlyKube } from "../../services/platform/kube/shadow/shadow-kube.ts";
import { EVICTING, EvictionWorld, UNREACHABLE } from "../support/eviction-world.ts";

const S = 1000;

/** A cluster in shadow mode, 30 s old, and the answers of its ledger. */
function explainedWorld(): { world: EvictionWorld; reader: LedgerReader } {
  const world = new EvictionWorld();
  for (const node of world.addZone("a", 6)) world.addTolerantPod(node, `pod-${node}`);
  let reader: LedgerReader | null = null;
  world.start(
    {
      ...EVICTING,
      ledger: (io) => {
        const kube = readOnlyKube(world.kube, (run) => io.clock.soon(run));
        const ledger = startLedger({ ...io, kube }, { isShadow: true });
        reader = ledger.reader;
        return ledger.stop;
      },
    },
    { isShadow: true },
  );
  world.advance(30 * S);
  if (reader === null) throw new Error("the ledger has not started");
  return { world, reader };
}

function podSentences(world: EvictionWorld, reader: LedgerReader, name: string): readonly string[] {
  let sentences: readonly string[] = [];
  reader.explainPod("default", name, (explained) => {
    sentences = explained?.sentences ?? [];
  });
  world.advance(0);
  return sentences;
}

test("a silent node says what would have been written, and nothing else", () => {
  const { world, reader } = explainedWorld();
  world.silence(["a-0"]);
  world.advance(65 * S);
  const { sentences = [], timeline = [] } = reader.explainNode("a-0") ?? {};
  expect(sentences).toContainEqual(expect.stringMatching(/^Ready=Unknown would have been written at /));
  expect(sentences).toContainEqual(
    expect.stringMatching(/^It would carry node\.kubernetes\.io\/unreachable:NoExecute/),
  );
  expect(sentences).toContain("It carries no NoExecute taint.");
  expect(sentences.filter((text) => /waits|joins the eviction queue/.test(text))).toEqual([]);
  const verdictAt = timeline.find(({ text }) => text.startsWith("judged unknown"))?.at ?? 0;
  const since = timeline.filter(({ at, times }) => at >= verdictAt && times > 0).map(({ text }) => text);
  expect(since.filter((text) => text.includes("healthy again"))).toEqual([]);
  expect(since).toContainEqual(expect.stringContaining(`would now carry ${UNREACHABLE}:NoExecute`));
});

test("a node behind another one in the queue says when it would be tainted", () => {
  const { world, reader } = explainedWorld();
  world.silence(["a-0", "a-1"]);
  world.advance(53 * S);
  const waiting = reader.nodes().find(({ eviction }) => eviction === "toBeEvicted")?.name ?? "";
  const sentences = reader.explainNode(waiting)?.sentences ?? [];
  expect(sentences).toContainEqual(expect.stringMatching(/^It is number 1 of 1 in the eviction queue/));
  expect(sentences).toContainEqual(expect.stringMatching(/^Once admitted, it would be tainted /));
});

test("a pod says when it would be deleted, and later when it would have been", () => {
  const { world, reader } = explainedWorld();
  world.silence(["a-0"]);
  world.advance(120 * S);
  expect(podSentences(world, reader, "pod-a-0").slice(0, 2)).toEqual([
    expect.stringMatching(/^Pod default\/pod-a-0 would be due to be deleted at .* in \d+/),
    `Its node a-0 would carry ${UNREACHABLE}:NoExecute, which it tolerates for 300 s.`,
  ]);
  expect(reader.pendingEvictions(10)).toEqual([expect.objectContaining({ name: "pod-a-0", isShadow: true })]);
  expect(reader.nodes().find(({ name }) => name === "a-0")).toMatchObject({
    ready: "True",
    eviction: "evicted",
    isShadow: true,
  });
  expect(reader.explainNode("a-0")?.sentences).toContain(
    "Vigil runs in shadow mode: whether and when it is tainted, and its pods evicted, is up to other controllers.",
  );
  world.advance(900 * S);
  expect(podSentences(world, reader, "pod-a-0").slice(0, 3)).toEqual([
    expect.stringMatching(/^Pod default\/pod-a-0 would have been due to be deleted at .* ago\.$/),
    `Its node a-0 would carry ${UNREACHABLE}:NoExecute, which it tolerates for 300 s.`,
    expect.stringMatching(/^Its deletion would have been written at .*, but shadow mode writes nothing\.$/),
  ]);
  expect(reader.pendingEvictions(10)).toEqual([]);
});

test("a node that returns carries nothing any more, and its pod stays", () => {
  const { world, reader } = explainedWorld();
  world.silence(["a-0"]);
  world.advance(600 * S);
  world.revive(["a-0"]);
  world.advance(30 * S);
  const { sentences = [], timeline = [] } = reader.explainNode("a-0") ?? {};
  expect(sentences.filter((text) => /would/.test(text))).toEqual([]);
  expect(timeline.map(({ text }) => text)).toContainEqual(
    expect.stringContaining(`would no longer carry ${UNREACHABLE}:NoExecute`),
  );
  expect(podSentences(world, reader, "pod-a-0")[0]).toMatch(/^Pod default\/pod-a-0 stays/);
});
