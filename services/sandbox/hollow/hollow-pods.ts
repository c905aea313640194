/** The pods of hollow nodes: created, reported running, and deleted when terminating, by live nodes only. */
import { type BoundPod, type Kube, type Log, type ObjectRef, Urgency } from "../../../protocols/ports.ts";
import { apiTime } from "../../domain/api-time.ts";

/** Name and image of a hollow pod's container. */
const CONTAINER = "hollow";

/** What a live node must do for a pod. */
type PodDuty = "run" | "finalise" | null;

/** What a live node must do for a pod; a pod that has completed needs nothing. */
function podDuty({ pod }: BoundPod): PodDuty {
  if (pod.deletionAt !== null) return "finalise";
  if (pod.phase === "Succeeded" || pod.phase === "Failed") return null;
  return pod.phase === "Running" && pod.ready === "True" ? null : "run";
}

/** A pod on a hollow node. */
export function hollowPod(nodeName: string, index: number): { readonly ref: ObjectRef; readonly body: unknown } {
  const name = `${nodeName}-pod-${index}`;
  const ref: ObjectRef = { kind: "Pod", namespace: "default", name };
  const body = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: ref.namespace, labels: { app: "hollow" } },
    spec: {
      nodeName,
      automountServiceAccountToken: false,
      containers: [{ name: CONTAINER, image: CONTAINER }],
    },
  };
  return { ref, body };
}

/** Pods that wait for their node, by node. */
export class HollowPods {
  readonly #kube: Kube;
  readonly #log: Log;
  readonly #waiting = new Map<string, Map<string, BoundPod>>();

  constructor(kube: Kube, log: Log) {
    this.#kube = kube;
    this.#log = log;
  }

  /** Stores a pod if it needs something; returns whether it does. */
  observe(bound: BoundPod): boolean {
    if (podDuty(bound) === null) {
      this.#forget(bound);
      return false;
    }
    const waiting = this.#waiting.get(bound.node) ?? new Map<string, BoundPod>();
    this.#waiting.set(bound.node, waiting.set(keyOf(bound), bound));
    return true;
  }

  /** Drops a pod that left the API. */
  gone(bound: BoundPod): void {
    this.#forget(bound);
  }

  /** Handles one pod; a failure is retried at the node's next heartbeat. */
  tend(bound: BoundPod, nowMs: number, mayRun: boolean): void {
    const { namespace, name, uid } = bound.pod;
    const ref: ObjectRef = { kind: "Pod", namespace, name };
    const duty = podDuty(bound);
    if (duty === "finalise") {
      this.#kube.write({ ref, urgency: Urgency.healing, verb: "delete", uid, gracePeriodSeconds: 0 }, (reply) => {
        if (reply.outcome === "ok" || reply.outcome === "gone") this.gone(bound);
        else this.#log.debug("hollow pod not finalised yet", { pod: keyOf(bound), detail: reply.detail });
      });
    } else if (duty === "run" && mayRun) {
      const body = runningStatus(uid, apiTime(nowMs));
      const request = { ref, urgency: Urgency.readiness, subresource: "status" } as const;
      this.#kube.write({ ...request, verb: "patch", patch: "strategic", body }, () => {});
    }
  }

  /** Handles all waiting pods of a node. */
  tendAll(nodeName: string, nowMs: number, mayRun: boolean): void {
    for (const bound of this.#waiting.get(nodeName)?.values() ?? []) this.tend(bound, nowMs, mayRun);
  }

  /** A later pod of the same name stays. */
  #forget(bound: BoundPod): void {
    const waiting = this.#waiting.get(bound.node);
    const key = keyOf(bound);
    if (waiting?.get(key)?.pod.uid !== bound.pod.uid) return;
    waiting.delete(key);
    if (waiting.size === 0) this.#waiting.delete(bound.node);
  }
}

function keyOf({ pod }: BoundPod): string {
  return `${pod.namespace}/${pod.name}`;
}

/**
 * The status of a running, ready pod with its one container, which kubectl counts; `uid` protects a later pod of the
 * same name.
 */
function runningStatus(uid: string, now: string): unknown {
  const conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) => ({
    type,
    status: "True",
    lastTransitionTime: now,
  }));
  const running = { state: { running: { startedAt: now } }, ready: true, started: true, restartCount: 0 };
  const containerStatuses = [{ name: CONTAINER, image: CONTAINER, imageID: "", ...running }];
  return { metadata: { uid }, status: { phase: "Running", startTime: now, conditions, containerStatuses } };
}
