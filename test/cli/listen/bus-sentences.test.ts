/** What `vigil watch` makes of messages, and which it refuses to be asked for. */
import { describe, expect, test } from "vitest";
import type { AnyMessage, BodyOf, Message, MessageType } from "../../../protocols/messages.ts";
import { runCommandLine } from "../../../services/cli/command-line.ts";
import { BusSentences, typesOf } from "../../../services/cli/listen/bus-sentences.ts";
import { judgedNode, judgedPod, judgedZone } from "../../ledger/ledger-world.ts";
import { fakeHost } from "../fake-host.ts";

let sequence = 0;
function message<T extends MessageType>(type: T, body: BodyOf<T>): AnyMessage {
  sequence += 1;
  const made: Message<T> = { type, body, id: `id-${sequence}`, source: "x@y", at: 5000, cause: null };
  return made as AnyMessage;
}

test("a verdict is a sentence once, however often it is published", () => {
  const sentences = new BusSentences(null);
  const verdict = judgedNode("n-1", { readiness: "unknown", since: 4000, heartbeatAt: 1000 });
  expect(sentences.onMessage(message("judged.node", verdict))).toMatchObject({
    at: 4000,
    object: { kind: "Node", namespace: "", name: "n-1" },
    text: "judged unknown: silent for 3 s",
  });
  expect(sentences.onMessage(message("judged.node", verdict))).toBeNull();
});

test("a zone is logged when its state changes, not with every pulse", () => {
  const sentences = new BusSentences(null);
  const texts = ["Normal", "Normal", "FullDisruption"].map(
    (state) => sentences.onMessage(message("judged.zone", judgedZone({ state: state as "Normal" })))?.text ?? null,
  );
  expect(texts).toEqual([expect.stringMatching(/^is Normal/), null, expect.stringMatching(/^is FullDisruption/)]);
});

test("with a node, only what is about it and its pods", () => {
  const sentences = new BusSentences("n-1");
  const verdict = (node: string) => message("judged.node", judgedNode(node, { readiness: "unknown" }));
  expect(sentences.onMessage(verdict("n-2"))).toBeNull();
  expect(sentences.onMessage(verdict("n-1"))).not.toBeNull();
  expect(sentences.onMessage(message("judged.zone", judgedZone({ state: "FullDisruption" })))).toBeNull();
  const due = { eviction: "due", node: "n-1" } as const;
  expect(sentences.onMessage(message("judged.pod", judgedPod(due)))).not.toBeNull();
});

test("without a topic every topic is watched", () => {
  expect(typesOf([])).toEqual(typesOf(["nodes", "zones", "pods", "writes"]));
});

describe("vigil watch refuses", () => {
  test.each([
    ["watch --cluster=blue", "vigil: watch --cluster=blue: has no effect without --nats\n"],
    ["watch --nats=n --token-file=t", "vigil: watch --token-file=t: conflicts with --nats; give only one of them\n"],
    ["watch nods", "vigil: watch nods: did you mean watch nodes?\n"],
    ["watch timetables", "vigil: watch timetables: name some of nodes, zones, pods, writes\n"],
    ["watch -o yaml", /^vigil: -o=yaml: /],
  ])("%s", async (line, problem) => {
    const host = fakeHost();
    expect(await runCommandLine(line.split(" "), host)).toBe(2);
    expect(host.err()).toEqual(typeof problem === "string" ? problem : expect.stringMatching(problem));
  });
});
