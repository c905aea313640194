/** A world without Vigil on virtual time: the embedded API, kubelets and pods. Nothing happens outside `advance`. */
import type {
  Kube,
  KubeObject,
  Log,
  Metrics,
  ObjectRef,
  Random,
  WriteReply,
  WriteRequest,
} from "../../protocols/ports.ts";
import { Urgency } from "../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../protocols/profile.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { createKube, type KubeIo } from "../../services/platform/kube/kube.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { VirtualClock } from "./clock.virtual.ts";
import { FaultyApiServer } from "./faulty-apiserver.ts";
import { seededRandom } from "./random.seeded.ts";
import { recordingLog } from "./recording-log.ts";
import { type KubeletOptions, TestKubelet } from "./test-kubelet.ts";

/** What a client of the API may have of its own. */
type OwnClient = Pick<KubeIo, "clock" | "wire" | "machineWallMs">;

/** The options of a world; the default profile is the standard one. */
export interface VirtualWorldOptions {
  readonly profile?: Partial<Profile>;
  readonly seed?: number;
}

/** A node as the API shows it, with the fields that tests read. */
export interface ShownNode {
  readonly metadata: {
    readonly uid: string;
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
    readonly resourceVersion: string;
  };
  readonly spec: {
    readonly unschedulable?: boolean;
    readonly taints?: {
      readonly key: string;
      readonly effect: string;
      readonly value?: string;
      readonly timeAdded?: string;
    }[];
  };
  readonly status: {
    readonly conditions?: {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
      readonly lastHeartbeatTime?: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}

/** The options of a pod. */
export interface PodOptions {
  readonly namespace?: string;
  readonly ready?: string | null;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The world of a scenario. */
export class VirtualWorld {
  readonly clock = new VirtualClock();
  readonly api: FaultyApiServer;
  readonly profile: Profile;
  /** A client of the API for kubelets and people. */
  readonly kube: Kube;
  readonly #seed: number;

  constructor({ profile = {}, seed = 1 }: VirtualWorldOptions = {}) {
    this.#seed = seed;
    this.profile = { ...STANDARD_PROFILE, ...profile };
    this.api = new FaultyApiServer({ clock: this.clock, random: this.random("api") });
    this.kube = this.createKube("kubelets", recordingLog(), createMetrics());
  }

  /** Lets time pass. */
  advance(ms: number): void {
    this.clock.advance(ms);
  }

  /** Registers a node with a kubelet of its own. */
  addNode(options: KubeletOptions): TestKubelet {
    const kubelet = new TestKubelet(this.kube, this.clock, options);
    kubelet.register();
    this.advance(0);
    return kubelet;
  }

  /** Creates a pod bound to a node, running and with a Ready condition: True unless given, null for none. */
  addPod(node: string, name: string, options: PodOptions = {}): KubeObject {
    const { namespace = "default", ready = "True", spec = {}, metadata = {} } = options;
    const ref: ObjectRef = { kind: "Pod", namespace, name };
    const startTime = apiTime(this.clock.wallMs());
    const scheduled = { type: "PodScheduled", status: "True", lastTransitionTime: startTime };
    const readiness = ready === null ? [] : [{ type: "Ready", status: ready, lastTransitionTime: startTime }];
    const containers = [{ name: "main", image: "none" }];
    const body = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, ...metadata },
      spec: { nodeName: node, containers, ...spec },
    };
    const created = this.write({ verb: "create", ref, urgency: Urgency.status, body });
    if (created.outcome !== "ok") throw new Error(`pod ${name} was not created: ${created.detail}`);
    this.patch(ref, { status: { phase: "Running", startTime, conditions: [scheduled, ...readiness] } }, "status");
    return created.object;
  }

  /** Carries out one write and returns its outcome. */
  write(request: WriteRequest): WriteReply {
    let result: WriteReply | null = null;
    this.kube.write(request, (reply) => {
      result = reply;
    });
    this.advance(0);
    if (result === null) throw new Error("the API did not answer at once");
    return result;
  }

  /** Patches an object strategically. Throws when that fails. */
  patch(ref: ObjectRef, body: unknown, subresource?: "status"): void {
    const where = subresource === undefined ? {} : { subresource };
    const reply = this.write({ verb: "patch", patch: "strategic", ref, urgency: Urgency.status, body, ...where });
    if (reply.outcome !== "ok") throw new Error(`${ref.kind} ${ref.name} was not patched: ${reply.detail}`);
  }

  /** An object as the API shows it now; null when there is none. */
  read(ref: ObjectRef): KubeObject | null {
    let found: KubeObject | null = null;
    this.kube.read(ref, (reply) => {
      found = reply.outcome === "ok" ? reply.object : null;
    });
    this.advance(0);
    return found;
  }

  /** A node as the API shows it now. Throws when it does not exist. */
  node(name: string): ShownNode {
    const object = this.read({ kind: "Node", namespace: "", name });
    if (object === null) throw new Error(`there is no node ${name}`);
    return { spec: {}, status: {}, ...object } as KubeObject & ShownNode;
  }

  /** A node's conditions as `Type=Status`, sorted. */
  conditions(name: string): string[] {
    return (this.node(name).status.conditions ?? []).map(({ type, status }) => `${type}=${status}`).toSorted();
  }

  /** A node's taints as `key:effect`. */
  taints(name: string): string[] {
    return (this.node(name).spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
  }

  /** Vigil's own annotations of a node. */
  records(name: string): Readonly<Record<string, string>> {
    const { annotations = {} } = this.node(name).metadata;
    return Object.fromEntries(Object.entries(annotations).filter(([key]) => key.startsWith("vigil.v1/")));
  }

  /** The status of a pod's Ready condition; null without one, undefined without a pod. */
  podReady(name: string, namespace = "default"): string | null | undefined {
    const pod = this.read({ kind: "Pod", namespace, name });
    if (pod === null) return undefined;
    const { conditions = [] } = (pod.status ?? {}) as { conditions?: { type: string; status: string }[] };
    return conditions.find(({ type }) => type === "Ready")?.status ?? null;
  }

  /** A client of the API, with a clock and a wire of its own when given. */
  createKube(name: string, log: Log, metrics: Metrics, own: Partial<OwnClient> = {}): Kube {
    const { clock = this.clock, wire = this.api.wire, ...machine } = own;
    const random = this.random(`kube/${name}`);
    return createKube({ wire, clock, random, log, metrics, profile: this.profile, ...machine });
  }

  /** A stream of chance of its own for a name. */
  random(stream: string): Random {
    return seededRandom(`${this.#seed}/${stream}`);
  }
}
