/** Registers a node with the API, or reconciles the existing one. */
import { type Io, type Kube, type ObjectRef, type Stop, type Timer, Urgency } from "../../protocols/ports.ts";
import { asNode, type NodeObject } from "./node-object.ts";
import { reconcile } from "./registration.policy.ts";
import { statusPatch } from "./status.patch.ts";

/** The Node object of a name. */
export function nodeRef(name: string): ObjectRef {
  return { kind: "Node", namespace: "", name };
}

/** A node to register. */
export interface Candidate {
  readonly node: NodeObject;
  readonly resetExtendedResources: boolean;
}

/** The result of one attempt: the node as the API has it now, or why there is none. */
type Registration = { readonly node: NodeObject; readonly created: boolean } | { readonly problem: string };

/** Creates the node. If it exists or may not be created, the existing node is read and reconciled. */
function tryRegister(kube: Kube, candidate: Candidate, done: (result: Registration) => void): void {
  const ref = nodeRef(candidate.node.metadata.name);
  kube.write({ ref, urgency: Urgency.healing, verb: "create", body: candidate.node }, (reply) => {
    if (reply.outcome === "ok") done({ node: asNode(reply.object), created: true });
    else if (reply.outcome === "exists" || reply.outcome === "denied") adopt(kube, candidate, reply.detail, done);
    else done({ problem: reply.detail });
  });
}

function adopt(kube: Kube, candidate: Candidate, refusal: string, done: (result: Registration) => void): void {
  const ref = nodeRef(candidate.node.metadata.name);
  kube.read(ref, (reply) => {
    if (reply.outcome !== "ok") {
      done({ problem: `${refusal}; reading the existing node: ${reply.detail}` });
      return;
    }
    const existing = asNode(reply.object);
    const { node, changed } = reconcile(candidate.node, existing, candidate.resetExtendedResources);
    const body = changed ? statusPatch(existing, node) : null;
    if (body === null) {
      done({ node: existing, created: false });
      return;
    }
    const patch = { ref, urgency: Urgency.healing, subresource: "status", verb: "patch", patch: "strategic" } as const;
    kube.write({ ...patch, body }, (written) => {
      if (written.outcome === "ok") done({ node: asNode(written.object), created: false });
      else done({ problem: `reconciling the existing node: ${written.detail}` });
    });
  });
}

/** The ports and settings of a registration. */
export interface RegisterOptions extends Pick<Io, "clock" | "kube" | "log"> {
  /** The pause before an attempt, counted from 0. */
  readonly pauseMs: (attempt: number) => number;
  /** Builds the node for each attempt. */
  readonly candidate: (done: (candidate: Candidate) => void) => void;
}

/** Retries until the node is registered, with a pause before each attempt (R9.3, R9.4). */
export function register(options: RegisterOptions, done: (node: NodeObject, created: boolean) => void): Stop {
  const { clock, kube, log, pauseMs, candidate } = options;
  let stopped = false;
  let timer: Timer | null = null;
  const attempt = (count: number) => {
    timer = clock.after(pauseMs(count), () =>
      candidate((built) => {
        if (!stopped) tryRegister(kube, built, (result) => settle(result, count));
      }),
    );
  };
  const settle = (result: Registration, count: number) => {
    if (stopped) return;
    if ("node" in result) {
      done(result.node, result.created);
      return;
    }
    log.warn("node not registered, retrying", { problem: result.problem });
    attempt(count + 1);
  };
  attempt(0);
  return () => {
    stopped = true;
    timer?.cancel();
  };
}
