/** The manifests as kustomize renders them, in the form that tests need: arguments of processes, and rights. */
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { kubectl } from "../support/kubectl.ts";

const DEPLOY = join(import.meta.dirname, "../../deploy");

/** A right that an account was given. */
export interface Grant {
  readonly account: string;
  /** Null for the whole cluster. */
  readonly namespace: string | null;
  readonly verb: string;
  readonly apiGroup: string;
  readonly resource: string;
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

interface RoleManifest extends Manifest {
  readonly rules: readonly Rule[];
}

interface BindingManifest extends Manifest {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly name: string; readonly namespace: string }[];
}

type Labels = Readonly<Record<string, string>>;

interface Container {
  readonly imagePullPolicy?: string;
  readonly args: readonly string[];
  readonly volumeMounts?: readonly {
    readonly mountPath: string;
    readonly subPath?: string;
    readonly subPathExpr?: string;
  }[];
  readonly securityContext: object;
  readonly livenessProbe?: object;
  readonly readinessProbe?: object;
}

interface Toleration {
  readonly key?: string;
  readonly operator: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

/** The pods of a Deployment or a StatefulSet. */
export interface PodTemplate {
  readonly containers: readonly Container[];
  readonly securityContext: object;
  readonly priorityClassName: string;
  readonly tolerations: readonly Toleration[];
  readonly affinity: {
    readonly podAntiAffinity: {
      readonly preferredDuringSchedulingIgnoredDuringExecution: readonly {
        readonly podAffinityTerm: {
          readonly topologyKey: string;
          readonly labelSelector: { readonly matchLabels: Labels };
        };
      }[];
    };
  };
}

interface PodMetadata {
  readonly labels: Labels;
  readonly annotations?: Labels;
}

interface WorkloadManifest extends Manifest {
  readonly spec: { readonly template: { readonly metadata: PodMetadata; readonly spec: PodTemplate } };
}

interface NetworkPolicyManifest extends Manifest {
  readonly spec: {
    readonly ingress: readonly {
      readonly from?: readonly object[];
      readonly ports: readonly { readonly port: number }[];
    }[];
  };
}

interface BudgetManifest extends Manifest {
  readonly spec: { readonly unhealthyPodEvictionPolicy?: string };
}

interface SelectingManifest extends Manifest {
  readonly spec: { readonly [field in "selector" | "podSelector"]?: { readonly matchLabels: Labels } };
}

/** A rendered overlay. */
export class Manifests {
  readonly text: string;
  readonly #all: readonly Manifest[];

  constructor(text: string) {
    this.text = text;
    this.#all = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
  }

  /** The arguments of a workload's process, without the values of some flags. */
  argsOf(workload: string, replaced: Readonly<Record<string, string>> = {}): string[] {
    const { args = [] } = this.#workload(workload)?.spec.template.spec.containers[0] ?? {};
    return args.map((arg) => {
      const [flag = ""] = arg.split("=");
      return Object.hasOwn(replaced, flag) ? `${flag}=${replaced[flag]}` : arg;
    });
  }

  /** Each workload as `kind name`. */
  workloads(): string[] {
    return this.#workloads().map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  }

  /** The files of its secrets that a workload's process can read: where, and which. */
  seedsOf(workload: string): Record<string, string | undefined> {
    const { volumeMounts = [] } = this.#workload(workload)?.spec.template.spec.containers[0] ?? {};
    return Object.fromEntries(
      volumeMounts.map(({ mountPath, subPath, subPathExpr = subPath }) => [mountPath, subPathExpr]),
    );
  }

  /** The pods of all workloads, with their labels and annotations. */
  pods(): (PodTemplate & PodMetadata)[] {
    return this.#workloads().map(({ spec: { template } }) => ({ ...template.spec, ...template.metadata }));
  }

  /** The labels that objects of a kind select pods by. */
  selectorsOf(kind: "PodDisruptionBudget" | "NetworkPolicy"): Labels[] {
    const all = this.#ofKind<SelectingManifest>(kind);
    return all.map(({ spec }) => (spec.selector ?? spec.podSelector)?.matchLabels ?? {});
  }

  /** The ports that network policies open to every client. */
  openPorts(): { readonly policy: string; readonly port: number }[] {
    return this.#ofKind<NetworkPolicyManifest>("NetworkPolicy").flatMap(({ metadata, spec }) => {
      const open = spec.ingress.filter(({ from = [] }) => from.length === 0);
      return open.flatMap(({ ports }) => ports.map(({ port }) => ({ policy: metadata.name, port })));
    });
  }

  /** The peers to which a network policy opens a port. */
  peersOf(policy: string, port: number): object[] {
    const [found] = this.#ofKind<NetworkPolicyManifest>("NetworkPolicy").filter(
      ({ metadata }) => metadata.name === policy,
    );
    const rules = found?.spec.ingress.filter(({ ports }) => ports.some((open) => open.port === port)) ?? [];
    return rules.flatMap(({ from = [] }) => from);
  }

  /** When pods that are not ready may be evicted from a node that is drained, by disruption budget. */
  drainPolicies(): Readonly<Record<string, string | undefined>> {
    const budgets = this.#ofKind<BudgetManifest>("PodDisruptionBudget");
    return Object.fromEntries(budgets.map(({ metadata, spec }) => [metadata.name, spec.unhealthyPodEvictionPolicy]));
  }

  /** Every right that is given to someone. */
  grants(): Grant[] {
    const bindings = [
      ...this.#ofKind<BindingManifest>("ClusterRoleBinding"),
      ...this.#ofKind<BindingManifest>("RoleBinding"),
    ];
    return bindings.flatMap(({ roleRef, subjects, metadata: { namespace } }) => {
      const role = this.#ofKind<RoleManifest>(roleRef.kind).find(
        ({ metadata }) => metadata.name === roleRef.name && metadata.namespace === namespace,
      );
      const accounts = subjects.map((subject) => `system:serviceaccount:${subject.namespace}:${subject.name}`);
      const rules = (role?.rules ?? []).flatMap(eachOf);
      return accounts.flatMap((account) => rules.map((rule) => ({ account, namespace: namespace ?? null, ...rule })));
    });
  }

  #workloads(): WorkloadManifest[] {
    return ["Deployment", "StatefulSet"].flatMap((kind) => this.#ofKind<WorkloadManifest>(kind));
  }

  #workload(name: string): WorkloadManifest | undefined {
    return this.#workloads().find(({ metadata }) => metadata.name === name);
  }

  #ofKind<M extends Manifest>(kind: string): M[] {
    return this.#all.filter((manifest): manifest is M => manifest.kind === kind);
  }
}

/** Renders an overlay. */
export async function render(overlay: string): Promise<Manifests> {
  return rendered(join(DEPLOY, "kustomize/overlays", overlay));
}

/** Renders an overlay with a NATS user for each process, as an operator changes it. */
export function renderUserPerProcess(overlay: string): Promise<Manifests> {
  return renderWith(overlay, ["user-per-process"]);
}

/** Renders an overlay with components, in this order, as an operator adds them. */
export function renderWith(overlay: string, components: readonly string[]): Promise<Manifests> {
  const added = `components: [${components.map((name) => `../../${name}`).join()}]\n`;
  return renderChanged(overlay, (kustomize) =>
    appendFileSync(join(kustomize, "overlays", overlay, "kustomization.yaml"), added),
  );
}

/** Renders an overlay with the job that rescues Vigil, beside the component `process`, where the image is named. */
export function renderWithRescue(overlay: string): Promise<Manifests> {
  return renderChanged(overlay, (kustomize) => {
    const hasNats = overlay !== "full-without-nats";
    const file = join(kustomize, hasNats ? "base" : `overlays/${overlay}`, "kustomization.yaml");
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace(/^( *- .*)process$/m, "$1process\n$1rescue"));
  });
}

/** Renders the hollow nodes. */
export function renderHollow(): Promise<Manifests> {
  return rendered(join(DEPLOY, "hollow"));
}

/** Renders an overlay of a changed copy of the folder kustomize. */
async function renderChanged(overlay: string, change: (kustomize: string) => void): Promise<Manifests> {
  const copy = mkdtempSync(join(tmpdir(), "vigil-manifests-"));
  try {
    cpSync(DEPLOY, copy, { recursive: true });
    change(join(copy, "kustomize"));
    return await rendered(join(copy, "kustomize/overlays", overlay));
  } finally {
    rmSync(copy, { recursive: true });
  }
}

async function rendered(folder: string): Promise<Manifests> {
  const { code, stdout, stderr } = await kubectl("/nonexistent", ["kustomize", folder]);
  if (code !== 0) throw new Error(stderr);
  return new Manifests(stdout);
}

function eachOf({ apiGroups, resources, verbs }: Rule) {
  return apiGroups.flatMap((apiGroup) =>
    resources.flatMap((resource) => verbs.map((verb) => ({ verb, apiGroup, resource }))),
  );
}
