/** It is reported to a user why something that is due does not happen, and silence about it is caught. */
import { expect, test } from "vitest";
import type { FactualExplanation, LedgerReader } from "../../protocols/ledger-reader.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { type Sentence, sentence } from "../../services/ledger/explain/sentences.ts";
import { storedAs } from "../../services/sandbox/apiserver/resources.ts";
import { profileGrace } from "./graces.ts";
import { Reported } from "./reported.ts";
import { drawSwarm } from "./swarm.ts";
import { World } from "./world.ts";

const S = 1000;
const READY = sentence("nodeReady", { node: "n", since: "", span: "" });
const UNTAINTED = sentence("nodeUntainted", {});

/** What a process says after some seconds. */
type Saying = (atSeconds: number) => readonly Sentence[];

/**
 * Looks at a node that has had this status for some seconds, which a process explains by these sentences. `isUnobserved`
 * says whether no observer showed the cluster meanwhile.
 */
function lookingAt(status: "True" | "Unknown", seconds: number, saying: Saying, isUnobserved = false): () => void {
  const { plot: _, hindrance: __, ...drawn } = drawSwarm(1);
  const profile = { ...STANDARD_PROFILE, evictionMode: "taint" as const };
  const world = new World({ ...drawn, plot: null, zones: [], faults: new Set(), profile });
  const explained = (): FactualExplanation => {
    const facts = saying(world.clock.monotonicMs() / S);
    return { sentences: facts.map(({ text }) => text), names: facts.map((each) => each.names), facts, timeline: [] };
  };
  const ledger: Partial<LedgerReader> = { explainNode: explained };
  const reported = new Reported({
    world,
    graces: () => [profileGrace(profile)],
    standing: () => ({ seenAt: 0 }),
    explaining: () => [{ name: "p1", ledger: ledger as LedgerReader }],
    following: null,
    isForged: () => false,
    wasUnobserved: () => isUnobserved,
  });
  const kubelet = world.join({ name: "zone-1", labels: "none", nodes: 0 }, 1, 0);
  world.editStatus(kubelet.name, () => [{ type: "Ready", status }]);
  kubelet.stop();
  // Another node is heard all the time, so that the silence of one is no outage.
  const lookWhileHeard = (): void => {
    world.heard.accepted("another", "lease", world.clock.wallMs(), world.clock.wallMs());
    reported.look();
  };
  lookWhileHeard();
  return () => {
    for (let leftS = seconds; leftS > 0; leftS -= 10) {
      world.clock.advance(10 * S);
      lookWhileHeard();
    }
  };
}

test.each<[string, "True" | "Unknown", number, Sentence[], string | null]>([
  ["a node that waits for nothing that is said", "Unknown", 50, [UNTAINTED], "does not say why zone-1-n1 is untainted"],
  ["a node that waits for a place", "Unknown", 50, [UNTAINTED, sentence("queueHalted", {})], null],
  ["a node that waits for a moment", "Unknown", 20, [UNTAINTED], null],
  ["a silent node that is said to be ready", "True", 200, [READY], "does not say why zone-1-n1 is silent"],
  ["a silent node of a blind process", "True", 200, [READY, sentence("nodeBlind", { why: "" })], null],
])("%s", (_what, status, seconds, said, caught) => {
  const look = lookingAt(status, seconds, () => said);
  if (caught === null) expect(look).not.toThrow();
  else expect(look).toThrow(caught);
});

// Decision 5: what was not observed may have been an outage, which a process then says.
test.each([
  ["that no observer showed", true, null],
  ["that was observed", false, "does not say why zone-1-n1 is untainted"],
])("a node that waits for an assumed outage of a time %s", (_what, isUnobserved, caught) => {
  const [from, to] = ["2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"];
  const assumed = sentence("podOutageOver", { from, to, span: "1m" });
  const look = lookingAt("Unknown", 50, () => [UNTAINTED, assumed], isUnobserved);
  if (caught === null) expect(look).not.toThrow();
  else expect(look).toThrow(caught);
});

// Silence counts from the return of a view, so a node that was ready before is so for one more grace.
test.each([
  [220, null],
  [320, "does not say why zone-1-n1 is silent"],
])("a silent node of a process that was blind until second 170, at second %i", (seconds, caught) => {
  const blind = [READY, sentence("nodeBlind", { why: "" })];
  const look = lookingAt("True", seconds, (atSeconds) => (atSeconds < 170 ? blind : [READY]));
  if (caught === null) expect(look).not.toThrow();
  else expect(look).toThrow(caught);
});

test.each([
  ["of which nothing warns", [], "no process warns about ConfigMap vigil-freeze: "],
  ["of which a process warns", ["ConfigMap vigil-freeze: data.pauseRequests: not JSON"], null],
])("a freeze that cannot be read, %s", (_what, warnings, caught) => {
  const swarm = drawSwarm(1, { policies: true });
  const world = new World({ ...swarm, zones: [], faults: new Set() });
  const metadata = { namespace: "kube-system", name: "vigil-freeze" };
  const data = { pauseRequests: "oncall" };
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
  world.asWorld(() => world.api.registry.create(storedAs("configmaps"), metadata.namespace, body));
  const reported = new Reported({
    world,
    graces: () => [profileGrace(swarm.profile)],
    standing: () => ({ seenAt: 0 }),
    explaining: () => [],
    following: () => [{ warnings: new Set(warnings) }],
    isForged: () => false,
    wasUnobserved: () => false,
  });
  const look = (): void => {
    for (let seconds = 0; seconds < 200; seconds += 10) {
      reported.look();
      world.clock.advance(10 * S);
    }
  };
  if (caught === null) expect(look).not.toThrow();
  else expect(look).toThrow(caught);
});
