/**
 * The containers of pods on real kubelets, whose runtime is a fake: a process of this machine for each pod that a test
 * has a program for. It asserts nothing.
 */
import type { BoundPod } from "../../protocols/ports.ts";
import type { KubeletRecord } from "./kubelet-record.ts";

/** A running process. */
export interface PodProcess {
  /** Ends it at once. */
  kill(): Promise<unknown>;
  /** What it has written. */
  log(): string;
}

/** Starts the program of a pod; null for a pod without one. */
export type StartPod = (bound: BoundPod) => Promise<PodProcess> | null;

interface Hosted {
  readonly bound: BoundPod;
  readonly process: PodProcess;
}

/** The processes of all nodes. */
export class HostedPods {
  readonly #record: KubeletRecord;
  readonly #start: StartPod;
  /** By uid. */
  readonly #hosted = new Map<string, Hosted>();
  readonly #lost = new Set<string>();

  constructor(record: KubeletRecord, start: StartPod) {
    this.#record = record;
    this.#start = start;
  }

  /** Starts the processes of pods that run since the last call, and ends those of pods that terminate or are gone. */
  async reconcile(): Promise<void> {
    const present = new Map([...this.#record.pods.values()].map((bound) => [bound.pod.uid, bound]));
    for (const [uid, { process }] of this.#hosted) {
      if (present.get(uid)?.pod.deletionAt === null) continue;
      this.#hosted.delete(uid);
      await process.kill();
    }
    for (const [uid, bound] of present) {
      const runs = bound.pod.phase === "Running" && bound.pod.deletionAt === null;
      if (!runs || this.#hosted.has(uid) || this.#lost.has(bound.node)) continue;
      const process = await this.#start(bound);
      if (process !== null) this.#hosted.set(uid, { bound, process });
    }
  }

  /** The pods of a workload whose process runs. */
  of(workload: string): BoundPod[] {
    return [...this.#hosted.values()]
      .map(({ bound }) => bound)
      .filter(({ pod }) => pod.name.startsWith(`${workload}-`));
  }

  /** Ends every process of these nodes at once, and starts none there until they are back. */
  async lose(nodes: readonly string[]): Promise<void> {
    for (const node of nodes) this.#lost.add(node);
    const lost = [...this.#hosted].filter(([, { bound }]) => nodes.includes(bound.node));
    for (const [uid] of lost) this.#hosted.delete(uid);
    await Promise.all(lost.map(([, { process }]) => process.kill()));
  }

  /** Lets a lost node run processes again. */
  restore(node: string): void {
    this.#lost.delete(node);
  }

  /** The end of each process's output, for the message of a failure. */
  log(): string {
    const logs = [...this.#hosted.values()].map(
      ({ bound, process }) => `${bound.pod.name}:\n${process.log().slice(-2000)}`,
    );
    return logs.join("\n");
  }

  /** Ends everything. */
  async close(): Promise<void> {
    await Promise.all([...this.#hosted.values()].map(({ process }) => process.kill()));
  }
}
