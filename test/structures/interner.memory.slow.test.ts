/** The memory that pods leave behind once they are gone. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { projectPod } from "../../services/platform/kube/watch/projection.ts";
import { Interner } from "../../services/structures/interner.ts";

const PODS = 20_000;
const TOLERATIONS_EACH = 40;
const MEBIBYTE = 1024 ** 2;

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

function usedMebibytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / MEBIBYTE;
}

/** A pod of a batch job: it also tolerates the taint of the nodes of its job. */
function podOfJob(job: number) {
  const common = Array.from({ length: TOLERATIONS_EACH - 1 }, (_, index) => ({
    key: `example.com/pool-${index}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: 300,
  }));
  const own = { key: "example.com/job", operator: "Equal", value: `job-${job}`, effect: "NoExecute" };
  const metadata = { name: `pod-${job}`, namespace: "jobs", uid: `uid-${job}`, resourceVersion: "1" };
  return { metadata, spec: { nodeName: "n-1", tolerations: [...common, own] }, status: { phase: "Running" } };
}

test("pods that come and go with their own tolerations leave almost nothing behind", () => {
  const io = { interner: new Interner(), problem: () => {} };
  const before = usedMebibytes();
  for (let job = 0; job < PODS; job++) expect(projectPod(podOfJob(job), io)?.pod.tolerations).toHaveLength(40);
  expect(usedMebibytes() - before).toBeLessThan(32);
  expect(projectPod(podOfJob(0), io)?.pod.tolerations.at(-1)?.value).toBe("job-0");
});

test("pods with equal tolerations share them, even with others in between", () => {
  const io = { interner: new Interner(), problem: () => {} };
  const [first, ...others] = [0, 1, 2, 0].map((job) => projectPod(podOfJob(job), io)?.pod.tolerations);
  expect(others.at(-1)).toBe(first);
});
