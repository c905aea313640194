/** Whether a request for labels and annotations still holds, and its patch. */
import { describe, expect, test } from "vitest";
import { Annotation, PROOF_SEAL_LABEL } from "../../protocols/names.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import { OUT_OF_SERVICE } from "../../services/domain/out-of-service.ts";
import { decideLabels } from "../../services/node-writer/node-writer.policy.ts";
import { nodeWith, taint } from "../node/node-fixtures.ts";

/** What the API sent of a node with these annotations. */
const shown = (annotations: Readonly<Record<string, string>> = {}) => ({ name: "node-1", annotations });
const live = (fields: Partial<ObservedNode>): ObservedNode => nodeWith("True", fields);

describe("asked.label", () => {
  const [os, arch] = ["kubernetes.io/os", "kubernetes.io/arch"];
  const labels = { [`beta.${os}`]: "linux", [`beta.${arch}`]: "arm64" };
  const truths = { [os]: "linux", [arch]: "arm64" };
  const ask = { node: "node-1", uid: "uid-1", resourceVersion: "1", labels };

  test("becomes a patch of labels, bound to the uid, not a version (R4.29)", () => {
    expect(decideLabels(ask, live({ labels: truths }), shown())).toEqual({
      kind: "write",
      change: "labels: beta.kubernetes.io/os=linux beta.kubernetes.io/arch=arm64",
      body: { metadata: { uid: "uid-1", labels } },
      shadow: { labels, annotations: {} },
    });
  });

  test("leaves out labels that are set", () => {
    const half = { ...truths, [`beta.${os}`]: "linux" };
    expect(decideLabels(ask, live({ labels: half }), shown())).toMatchObject({
      body: { metadata: { labels: { [`beta.${arch}`]: "arm64" } } },
    });
    expect(decideLabels(ask, live({ labels: { ...truths, ...labels } }), shown()).kind).toBe("ok");
    expect(decideLabels(ask, live({ uid: "uid-2" }), shown()).kind).toBe("gone");
  });

  test("is refused if a label would not follow its current name", () => {
    expect(decideLabels(ask, live({ labels: { ...truths, [os]: "windows" } }), shown()).kind).toBe("refused");
    expect(decideLabels(ask, live({ labels: {} }), shown()).kind).toBe("refused");
  });

  describe("about an annotation", () => {
    const SEEN = "vigil.v1/taints-seen";
    const taints = [taint("maintenance", "NoExecute")];
    const decided = (text: string | null, present = "an earlier one") =>
      decideLabels({ ...ask, labels: {}, annotations: { [SEEN]: text } }, live({ taints }), shown({ [SEEN]: present }));

    test.each([
      ["records a present taint", '{"maintenance:NoExecute":"2026-01-01T00:00:00.000000Z"}', `${SEEN}={`],
      ["is removed", null, `-${SEEN}`],
    ])("writes one that %s", (_what, text, change) => {
      const body = { metadata: { uid: "uid-1", annotations: { [SEEN]: text } } };
      expect(decided(text)).toMatchObject({ kind: "write", change: expect.stringContaining(change), body });
    });

    test.each([
      ["is not JSON", "x"],
      ["records nothing", "{}"],
      ["holds no instant", '{"maintenance:NoExecute":"soon"}'],
      ["records an absent taint", '{"other:NoExecute":"2026-01-01T00:00:00Z"}'],
    ])("refuses one that %s", (_what, text) => expect(decided(text).kind).toBe("refused"));

    test("writes none that the node has, or lacks, already", () => {
      const text = '{"maintenance:NoExecute":"2026-01-01T00:00:00.000000Z"}';
      expect(decided(text, text)).toMatchObject({ kind: "ok", detail: "nothing is left to change" });
      const removed = { ...ask, labels: {}, annotations: { [SEEN]: null } };
      expect(decideLabels(removed, live({ taints }), shown()).kind).toBe("ok");
    });

    const OUT = { ...OUT_OF_SERVICE, timeAdded: "2026-01-01T00:00:00Z" };
    const declared = { taints: [OUT], outOfServiceAt: Date.UTC(2026, 0, 1) };
    test.each([
      ["proved-down", "a Ready node", "write", nodeWith("True")],
      ["proved-down", "a Ready node with the taint", "write", nodeWith("True", declared)],
      ["proved-down", "a silent node", "refused", nodeWith("Unknown")],
      ["proved-down", "a node without a Ready condition", "refused", nodeWith(null)],
      ["out-of-service", "a Ready node", "write", nodeWith("True")],
      ["out-of-service", "a Ready node with the taint", "refused", nodeWith("True", declared)],
      ["out-of-service", "a silent node", "refused", nodeWith("Unknown")],
    ])("takes %s off %s: %s", (name, _what, kind, node) => {
      const record = `vigil.v1/${name}`;
      const removed = { ...ask, labels: {}, annotations: { [record]: null } };
      expect(decideLabels(removed, node, shown({ [record]: "present" })).kind).toBe(kind);
    });

    test("takes a proof off with its seal", () => {
      const annotations = { [Annotation.provedDown]: null };
      const present = { ...shown({ [Annotation.provedDown]: "present" }), labels: { [PROOF_SEAL_LABEL]: "seal" } };
      const decision = decideLabels({ ...ask, labels: {}, annotations }, nodeWith("True"), present);
      const labels = { [PROOF_SEAL_LABEL]: null };
      expect(decision).toMatchObject({ kind: "write", body: { metadata: { annotations, labels } } });
      const left = { ...present, annotations: {} };
      expect(decideLabels({ ...ask, labels: {}, annotations }, nodeWith("True"), left)).toMatchObject({
        change: `labels: -${PROOF_SEAL_LABEL}`,
        body: { metadata: { labels } },
      });
    });
  });
});
