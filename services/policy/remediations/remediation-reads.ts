/** Reads the templates of policies with remediations, and all objects that were made from them. */
import type { NodePolicy, Remediation } from "../../../protocols/policy-set.ts";
import type { Io, KubeObject } from "../../../protocols/ports.ts";
import type { RemediationObject } from "./remediation.policy.ts";
import {
  type RemediationProblem,
  readProblem,
  readRemediations,
  remediationsRef,
  templateRef,
} from "./remediation-object.policy.ts";

type Template = Remediation["template"];

/** What was read for one step of a policy. */
export interface StepReads {
  readonly template: KubeObject | null;
  readonly templateProblem: RemediationProblem | null;
  /** The objects of its kind by name; empty where they could not be read. */
  readonly objects: ReadonlyMap<string, RemediationObject>;
  readonly objectsProblem: RemediationProblem | null;
}

const NOTHING: StepReads = { template: null, templateProblem: null, objects: new Map(), objectsProblem: null };

/** One round of reads: each template once, and each kind and namespace once. */
export class RemediationReads {
  readonly #steps = new Map<string, StepReads>();
  readonly templates: readonly Template[];

  constructor(policies: readonly Pick<NodePolicy, "remediations">[]) {
    const templates = policies.flatMap(({ remediations }) => remediations.map(({ template }) => template));
    this.templates = [...new Map(templates.map((template) => [keyOf(template), template])).values()];
  }

  of(template: Template): StepReads {
    return this.#steps.get(keyOf(template)) ?? NOTHING;
  }

  /** Whether each template of other reads is among those of these, once they are answered. */
  cover({ templates }: RemediationReads): boolean {
    return templates.every((template) => this.#steps.has(keyOf(template)));
  }

  /** Reads everything, and calls `done` once it is answered. */
  start(kube: Pick<Io["kube"], "read">, done: () => void): void {
    let waiting = 2 * this.templates.length;
    const answered = (template: Template, part: Partial<StepReads>): void => {
      this.#steps.set(keyOf(template), { ...this.of(template), ...part });
      waiting -= 1;
      if (waiting === 0) done();
    };
    for (const template of this.templates) {
      kube.read(templateRef(template), (reply) => {
        const templateProblem = readProblem("template", template, reply);
        answered(template, { template: reply.outcome === "ok" ? reply.object : null, templateProblem });
      });
      kube.read(remediationsRef(template), (reply) => {
        const objectsProblem = readProblem("objects", template, reply);
        const objects = reply.outcome === "ok" ? readRemediations(reply.object) : NOTHING.objects;
        answered(template, { objects, objectsProblem });
      });
    }
  }
}

function keyOf({ apiVersion, kind, namespace, name }: Template): string {
  return `${apiVersion} ${kind} ${namespace}/${name}`;
}
