/** A judgement of a pod is caught when its seconds belong to another taint than the one that it names. */
import { expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import { TolerationClaims } from "./toleration-claims.ts";

const NOT_READY = { key: "node.kubernetes.io/not-ready", effect: "NoExecute" };
const UNREACHABLE = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };

const pod = (notReady: number, unreachable: number) => ({
  uid: "u",
  json: JSON.stringify({
    spec: {
      tolerations: [
        { ...NOT_READY, operator: "Exists", tolerationSeconds: notReady },
        { ...UNREACHABLE, operator: "Exists", tolerationSeconds: unreachable },
      ],
    },
  }),
});

/** The problem with a judgement of a pod that tolerates these taints for 60 and 150 s. */
function problemOf(changes: Partial<BodyOf<"judged.pod">>, claims = new TolerationClaims()): string | null {
  claims.pod(pod(60, 150));
  const target = { namespace: "default", name: "p", uid: "u", node: "n", eviction: "pending" } as const;
  const body = { ...target, deadlineAt: 0, taint: NOT_READY, tolerationSeconds: 60, ...changes };
  try {
    claims.check({ type: "judged.pod", id: "", source: "taint-manager@p1", at: 0, cause: null, body });
  } catch (error) {
    return String(error);
  }
  return null;
}

test("the seconds of the named taint pass, and so does a taint that is not tolerated", () => {
  expect(problemOf({})).toBeNull();
  expect(problemOf({ tolerationSeconds: 150, toleratedTaint: UNREACHABLE })).toBeNull();
  expect(problemOf({ tolerationSeconds: null })).toBeNull();
});

test("the seconds of the other taint are reported", () => {
  expect(problemOf({ tolerationSeconds: 150 })).toContain(
    "taint-manager@p1 says that p tolerates node.kubernetes.io/not-ready for 150 s, which it never has",
  );
});

test("seconds from before an edit pass", () => {
  const claims = new TolerationClaims();
  claims.pod(pod(30, 150));
  expect(problemOf({ tolerationSeconds: 30 }, claims)).toBeNull();
});
